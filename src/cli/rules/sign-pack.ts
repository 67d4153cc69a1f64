import { readFileSync, writeFileSync } from 'node:fs';
import { NO_CORE } from '../../adapters/packs/load-pack.js';
import { signFile } from '../../adapters/packs/minisign.js';
import { writePackBundle } from '../../adapters/packs/pack-bundle.js';
import { CliError } from '../terminal.js';
import { openPack, type RulesArgs, type RulesIo } from './rules-io.js';

export interface SignArgs extends RulesArgs {
  /** File of a secret key without a password. */
  readonly sign?: string | undefined;
  readonly out?: string | undefined;
}

/** Writes one pack as a bundle, and its signature beside it. Exit code 0. @throws CliError, PackError */
export function signPack(args: SignArgs, io: RulesIo): number {
  const { sign, out, pack = [] } = args;
  if (sign === undefined || !out?.endsWith('.json')) throw new CliError('--sign needs --out FILE.json');
  if (pack.filter((name) => name !== NO_CORE).length !== 1) throw new CliError('--sign needs one --pack');
  const content = openPack(args, io).loaded.contents.at(-1);
  if (content === undefined) throw new CliError('--sign needs one --pack');
  const { name, version } = content.head;
  const bundle = Buffer.from(writePackBundle(content));
  const signature = signFile(bundle, readFileSync(sign, 'utf8'), `portcullis pack ${name} ${version}`);
  if (signature === undefined)
    throw new CliError(
      `${sign} is not a secret key of minisign without a password. Make one with \`minisign -G -W\`, or sign the bundle again by \`minisign -S -m\`.`,
    );
  writeFileSync(out, bundle);
  writeFileSync(`${out}.minisig`, signature);
  io.out(`${out} and ${out}.minisig: ${name} ${version}, ${content.rules.length} rules\n`);
  return 0;
}
