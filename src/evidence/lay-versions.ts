import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LoadOptions } from '../adapters/packs/load-pack.js';
import { unpackArchive } from '../adapters/packs/pack-archive.js';
import { PACK_FILE } from './keep-versions.js';
import { NotKeptError } from './not-kept-error.js';
import type { VersionShelf } from './version-shelf.js';

/** Lays kept rules into a folder; gives what `loadPack` takes. @throws NotKeptError */
export async function layRules(shelf: VersionShelf, version: string, folder: string): Promise<LoadOptions> {
  const archive = (await shelf.get('pack', version))?.get(PACK_FILE);
  if (archive === undefined) throw new NotKeptError(`the rules ${version} aren’t kept`);
  const packs = unpackArchive(Buffer.from(archive).toString('utf8'), folder);
  if (packs === undefined) throw new NotKeptError(`the rules ${version} can’t be read by this version`);
  return packs;
}

/** Lays a kept model's files into a folder. @throws NotKeptError */
export async function layModel(shelf: VersionShelf, version: string, folder: string): Promise<void> {
  const files = await shelf.get('model', version);
  if (files === undefined) throw new NotKeptError(`the model ${version} isn’t kept`);
  for (const [name, bytes] of files) writeFileSync(join(folder, name), bytes);
}
