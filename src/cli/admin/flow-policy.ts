import { Command } from 'commander';
import { checkAccountPolicy } from '../../policy/run/written-policy.js';
import { readPolicy } from '../policy-file.js';
import { CliError } from '../terminal.js';
import { noteChange, printOne, storeCommand } from './store-command.js';

const show = storeCommand(
  new Command('show')
    .description('print the policy of an account as JSON; null without one')
    .argument('<account>', 'id or name'),
  async (store, flags, name: string) => {
    const { flowPolicy } = await store.accounts.find(name);
    printOne(flags, flowPolicy, JSON.stringify(flowPolicy, null, 2));
  },
);

const set = storeCommand(
  new Command('set')
    .description('put a policy in the place of the one that an account has, effective within a second')
    .argument('<account>', 'id or name')
    .argument('<file>', 'policy as JSON, as portcullis flow report --write writes it'),
  async (store, flags, name: string, file: string) => {
    const policy = readPolicy(file);
    try {
      checkAccountPolicy(policy);
    } catch (error) {
      throw new CliError(
        `${file} is no policy of an account: ${error instanceof Error ? error.message : 'unknown reason'}.`,
      );
    }
    const account = await store.accounts.setSettings((await store.accounts.find(name)).id, { flowPolicy: policy });
    await noteChange(store, account.id, 'flow-policy.replace', '');
    printOne(flags, policy, `${account.id}: the policy is in force`);
  },
);

const remove = storeCommand(
  new Command('remove')
    .description('remove the policy of an account: the defaults of a guard decide')
    .argument('<account>', 'id or name'),
  async (store, flags, name: string) => {
    const account = await store.accounts.setSettings((await store.accounts.find(name)).id, { flowPolicy: null });
    await noteChange(store, account.id, 'flow-policy.remove', '');
    printOne(flags, null, `${account.id}: no policy`);
  },
);

export const flowPolicyCommands: readonly Command[] = [show, set, remove];
