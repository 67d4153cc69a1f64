import { Command } from 'commander';
import { accountCommand } from './account.js';
import { flowPolicyCommand } from './flow-policy.js';
import { keyCommand } from './key.js';
import { orderCommand, overageCommand, planCommand } from './plan.js';
import { printOne, type StoreFlags, storeCommand } from './store-command.js';
import { userCommand } from './user.js';

const purge = storeCommand(
  new Command('purge')
    .description('delete evidence past its retention')
    .option('--trust-clock', 'purge even though the clock has jumped since the last purge'),
  async (store, flags: StoreFlags & { readonly trustClock?: boolean }) => {
    const purged = await store.evidence.purge(Date.now(), { trustClock: flags.trustClock });
    printOne(flags, { purged }, `${purged} evidence records purged`);
  },
);

const check = storeCommand(
  new Command('check').description('verify the database; exits with 1 if something is wrong'),
  async (store, flags) => {
    const health = await store.check();
    printOne(flags, health, health.ok ? 'ok' : health.problems.join('\n'));
    if (!health.ok) process.exitCode = 1;
  },
);

/** `portcullis admin`: accounts, keys, plans and users, on the database that a server may be running on. */
export function adminCommand(): Command {
  return new Command('admin')
    .description('manage accounts, keys, plans and users of the service')
    .addCommand(accountCommand())
    .addCommand(keyCommand())
    .addCommand(flowPolicyCommand())
    .addCommand(planCommand())
    .addCommand(overageCommand())
    .addCommand(orderCommand())
    .addCommand(userCommand())
    .addCommand(purge)
    .addCommand(check);
}
