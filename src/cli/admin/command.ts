import { Command } from 'commander';
import { accountCommands } from './account.js';
import { flowPolicyCommands } from './flow-policy.js';
import { keyCommands } from './key.js';
import { orderCommands, overageCommands, planCommands } from './plan.js';
import { printOne, type StoreFlags, storeCommand } from './store-command.js';
import { userCommands } from './user.js';

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

const GROUPS: Readonly<Record<string, readonly [description: string, commands: readonly Command[]]>> = {
  account: ['manage accounts', accountCommands],
  key: ['manage API keys', keyCommands],
  'flow-policy': ['manage what calls of an account may carry from data', flowPolicyCommands],
  plan: ['manage plans', planCommands],
  overage: ['manage calls beyond the plan', overageCommands],
  order: ['manage orders for plans and overage packs', orderCommands],
  user: ['manage users of the dashboard', userCommands],
};

/** `portcullis admin`: accounts, keys, plans and users, on the database that a server may be running on. */
export function adminCommand(): Command {
  const admin = new Command('admin').description('manage accounts, keys, plans and users of the service');
  for (const [name, [description, commands]] of Object.entries(GROUPS)) {
    const group = admin.command(name).description(description);
    for (const command of commands) group.addCommand(command);
  }
  return admin.addCommand(purge).addCommand(check);
}
