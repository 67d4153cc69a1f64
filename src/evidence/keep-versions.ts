import { readModelFile, readModelFolder } from '../adapters/model/model-folder.js';
import { archivePacks } from '../adapters/packs/pack-archive.js';
import { PortcullisError } from '../engine/errors.js';
import type { VersionKind, VersionShelf } from './version-shelf.js';

/** The file that a pack's version is kept as. */
export const PACK_FILE = 'pack.json';

/** What decides from now on. */
export interface RunningVersions {
  readonly packs?: readonly string[] | undefined;
  readonly overlays?: readonly string[] | undefined;
  /** `YYYY-MM-DD`, as the scorers were given it. */
  readonly today: string;
  readonly rulesVersion: string;
  readonly mlVersion: string;
  /** Undefined where no model runs. */
  readonly modelFolder: string | undefined;
}

/** The files on disk aren't those that decide: they were changed while the service started. */
class VersionError extends PortcullisError {
  override readonly name = 'VersionError';
  readonly code = 'VERSION_CHANGED';

  constructor(message: string) {
    super(message);
  }
}

/** Keeps what is about to decide, so that its verdicts can be replayed later. @throws VersionError */
export async function keepVersions(shelf: VersionShelf, running: RunningVersions): Promise<void> {
  const { packs, overlays, today, rulesVersion, mlVersion, modelFolder } = running;
  if ((await shelf.names('pack', rulesVersion)).length === 0) {
    const archive = archivePacks({ packs, overlays, today });
    differs('rules', archive.rulesVersion, rulesVersion);
    await shelf.put('pack', rulesVersion, PACK_FILE, Buffer.from(archive.text));
  }
  if (modelFolder === undefined) return;
  const { manifest, version } = await readModelFolder(modelFolder);
  differs('model', version, mlVersion);
  await keepFiles(shelf, 'model', version, ['manifest.json', ...Object.keys(manifest.files)], modelFolder);
}

async function keepFiles(
  shelf: VersionShelf,
  kind: VersionKind,
  version: string,
  files: readonly string[],
  folder: string,
): Promise<void> {
  // A start that was killed may have kept some of them.
  const kept = new Set(await shelf.names(kind, version));
  for (const file of files)
    if (!kept.has(file)) await shelf.put(kind, version, file, await readModelFile(folder, file));
}

function differs(what: string, onDisk: string, running: string): void {
  if (onDisk !== running) throw new VersionError(`the ${what} on disk changed while the service started: start again`);
}
