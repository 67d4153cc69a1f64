import { Command } from 'commander';
import { accountCommand } from './account.js';
import { keyCommand } from './key.js';
import { orderCommand, overageCommand, planCommand } from './plan.js';
import { printOne, type StoreFlags, withStore, withStoreFlags } from './store-command.js';
import { userCommand } from './user.js';

function purge(): Command {
  return withStoreFlags(new Command('purge').description('delete evidence past its retention'))
    .option('--trust-clock', 'purge even though the clock has jumped since the last purge')
    .action((flags: StoreFlags & { readonly trustClock?: boolean }) =>
      withStore(flags, async (store) => {
        const purged = await store.evidence.purge(Date.now(), { trustClock: flags.trustClock });
        printOne(flags, { purged }, `${purged} evidence records purged`);
      }),
    );
}

function check(): Command {
  return withStoreFlags(
    new Command('check').description('verify the database; exits with 1 if something is wrong'),
  ).action((flags: StoreFlags) =>
    withStore(flags, async (store) => {
      const health = await store.check();
      printOne(flags, health, health.ok ? 'ok' : health.problems.join('\n'));
      if (!health.ok) process.exitCode = 1;
    }),
  );
}

/** `portcullis admin`: accounts, keys, plans and users, on the database that a server may be running on. */
export function adminCommand(): Command {
  return new Command('admin')
    .description('manage accounts, keys, plans and users of the service')
    .addCommand(accountCommand())
    .addCommand(keyCommand())
    .addCommand(planCommand())
    .addCommand(overageCommand())
    .addCommand(orderCommand())
    .addCommand(userCommand())
    .addCommand(purge())
    .addCommand(check());
}
