import { readFileSync } from 'node:fs';
import { Option } from 'commander';
import { createGuard, type GuardOptions } from '../policy/index.js';
import { describeError } from './screen/text-files.js';
import { CliError } from './terminal.js';

/** Content of a policy file: these options of `createGuard`. */
export type PolicyFile = Pick<GuardOptions, 'on' | 'tools'>;

export function policyOption(): Option {
  return new Option('--policy <file>', 'JSON file with `on` and `tools`, as createGuard takes them');
}

/** Reads a policy; none for no file. @throws CliError for a file that can't be read, or is no policy */
export function readPolicy(file: string | undefined): PolicyFile {
  if (file === undefined) return {};
  let policy: unknown;
  try {
    policy = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    const why = error instanceof SyntaxError ? 'it is not JSON' : describeError(error);
    throw new CliError(`Can't read the policy ${file}: ${why}.`);
  }
  if (typeof policy !== 'object' || policy === null || Array.isArray(policy))
    throw new CliError(`${file} is no policy: it must be a JSON object with \`on\` and \`tools\`.`);
  const unknown = Object.keys(policy).find((name) => name !== 'on' && name !== 'tools');
  if (unknown !== undefined)
    throw new CliError(`${file} is no policy: it has \`on\` and \`tools\`, not \`${unknown}\`.`);
  const options = policy as PolicyFile;
  try {
    createGuard(options);
  } catch (error) {
    throw new CliError(`${file} is no policy: ${error instanceof Error ? error.message : 'unknown reason'}.`);
  }
  return options;
}
