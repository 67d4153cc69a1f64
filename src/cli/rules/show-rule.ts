import { stringify } from 'yaml';
import { CliError } from '../cli-error.js';
import { openPack, type RulesArgs, type RulesIo } from './rules-io.js';

/** Shows one rule with its examples. Exit code 0. @throws CliError for an unknown id */
export const showRule = (id: string, args: RulesArgs, io: RulesIo): number => {
  const { compiled } = openPack(args, io);
  const rule = compiled.rules.find((one) => one.id === id);
  if (!rule) throw new CliError(`there is no rule "${id}"; see "portcullis rules list"`);
  io.out(args.json ? `${JSON.stringify(rule, null, 2)}\n` : stringify(rule, { lineWidth: 120 }));
  return 0;
};
