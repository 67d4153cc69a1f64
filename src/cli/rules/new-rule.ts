import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { stringify } from 'yaml';
import { newRule } from '../../rule-authoring/new-rule.js';
import { CliError } from '../cli-error.js';
import { describeError } from '../screen/text-files.js';
import type { RulesArgs, RulesIo } from './rules-io.js';

/** Writes the scaffold of a rule into a pack folder, and the pack's head where there is none. Exit code 0. @throws CliError; TuningError */
export function writeNewRule(id: string, { pack }: RulesArgs, { out }: Pick<RulesIo, 'out'>): number {
  const folder = pack?.at(-1);
  if (folder === undefined)
    throw new CliError('Say which pack gets the rule: --pack FOLDER; a new folder becomes a pack.');
  const yaml = newRule(id);
  const file = `${join(folder, ...id.split('.'))}.yaml`;
  const head = join(folder, 'pack.yaml');
  if (existsSync(file)) throw new CliError(`There is a file ${file} already.`);
  try {
    mkdirSync(dirname(file), { recursive: true });
    if (!existsSync(head)) {
      const name = basename(resolve(folder));
      const content = { name, version: '0.1.0', description: 'Our own rules.', licence: 'UNLICENSED', threshold: 0.5 };
      writeFileSync(head, stringify(content), { flag: 'wx' });
      out(`${head}\n`);
    }
    writeFileSync(file, yaml, { flag: 'wx' });
  } catch (error) {
    throw new CliError(`Can't write ${file}: ${describeError(error)}.`);
  }
  out(
    `${file}\nNext: edit it, then "portcullis rules lint ${folder}" and "portcullis rules test ${id} --pack ${folder}".\n`,
  );
  return 0;
}
