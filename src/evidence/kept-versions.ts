import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { readModelFile, readModelFolder } from '../adapters/model/model-folder.js';
import type { LoadOptions } from '../adapters/packs/load-pack.js';
import { archivePacks, unpackArchive } from '../adapters/packs/pack-archive.js';
import { PortcullisError } from '../engine/errors.js';
import { type Overlay, overlaySchema } from '../engine/rules/pack/overlay-schema.js';

/** Parts that decide a verdict and have versions of their own. */
export type VersionKind = 'pack' | 'model';

/** Keeps rules and models as they were when they gave verdicts. */
export interface KeptVersions {
  /** Keeps a file of a version; again it changes nothing. */
  put(kind: VersionKind, version: string, file: string, bytes: Uint8Array): Promise<void>;
  /** The names of a version's files; empty where it isn't kept. */
  names(kind: VersionKind, version: string): Promise<readonly string[]>;
  /** The files of a version; undefined where it isn't kept. */
  get(kind: VersionKind, version: string): Promise<ReadonlyMap<string, Uint8Array> | undefined>;
}

const PACK_FILE = 'pack.json';

/** Rules and model that decide from now on. */
export interface RunningVersions {
  readonly packs?: readonly string[] | undefined;
  readonly overlays?: readonly string[] | undefined;
  /** `YYYY-MM-DD`, as the workers were given it. */
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
}

/** Keeps what is about to decide, so that its verdicts can be replayed later. @throws VersionError */
export async function keepVersions(versions: KeptVersions, running: RunningVersions): Promise<void> {
  const { packs, overlays, today, rulesVersion, mlVersion, modelFolder } = running;
  if ((await versions.names('pack', rulesVersion)).length === 0) {
    const archive = archivePacks({ packs, overlays, today });
    differs('rules', archive.rulesVersion, rulesVersion);
    await versions.put('pack', rulesVersion, PACK_FILE, Buffer.from(archive.text));
  }
  if (modelFolder === undefined) return;
  const { manifest, version } = await readModelFolder(modelFolder);
  differs('model', version, mlVersion);
  await keepFiles(versions, 'model', version, ['manifest.json', ...Object.keys(manifest.files)], modelFolder);
}

/** The file that an account's overlay is kept as: the packs below it are kept once. */
const OVERLAY_FILE = 'overlay.json';

interface KeptOverlay {
  /** The version of the rules without it. */
  readonly base: string;
  readonly rulesVersion: string;
  readonly overlay: Overlay;
}

const keptOverlaySchema = z.object({ base: z.string(), overlay: overlaySchema });

/** Keeps an overlay that is about to decide on top of rules that run. */
export async function keepOverlay(versions: KeptVersions, { base, rulesVersion, overlay }: KeptOverlay): Promise<void> {
  if ((await versions.names('pack', rulesVersion)).length > 0) return;
  await versions.put('pack', rulesVersion, OVERLAY_FILE, Buffer.from(JSON.stringify({ base, overlay })));
}

async function keepFiles(
  versions: KeptVersions,
  kind: VersionKind,
  version: string,
  files: readonly string[],
  folder: string,
): Promise<void> {
  // A start that was killed may have kept some of them.
  const kept = new Set(await versions.names(kind, version));
  for (const file of files)
    if (!kept.has(file)) await versions.put(kind, version, file, await readModelFile(folder, file));
}

function differs(what: string, onDisk: string, running: string): void {
  if (onDisk !== running) throw new VersionError(`the ${what} on disk changed while the service started: start again`);
}

/** A version that isn't kept, or that this version of the product can't run any more. */
export class NotKeptError extends PortcullisError {
  override readonly name = 'NotKeptError';
  readonly code = 'VERSION_NOT_KEPT';
}

/** Writes kept rules into a folder; returns what `loadPack` takes. @throws NotKeptError */
export async function writeRules(versions: KeptVersions, version: string, folder: string): Promise<LoadOptions> {
  const files = await versions.get('pack', version);
  const top = files?.get(OVERLAY_FILE);
  if (top !== undefined && !files?.has(PACK_FILE)) return writeOverlay(versions, version, top, folder);
  const archive = files?.get(PACK_FILE);
  if (archive === undefined) throw new NotKeptError(`the rules ${version} aren’t kept`);
  const packs = unpackArchive(Buffer.from(archive).toString('utf8'), folder);
  if (packs === undefined) throw new NotKeptError(`the rules ${version} can’t be read by this version`);
  return packs;
}

/** The overlay that makes these rules out of others, where they are kept so. */
export async function keptOverlay(
  versions: KeptVersions,
  version: string,
): Promise<Pick<KeptOverlay, 'base' | 'overlay'> | undefined> {
  const bytes = (await versions.get('pack', version))?.get(OVERLAY_FILE);
  if (bytes === undefined) return undefined;
  return keptOverlaySchema.safeParse(JSON.parse(Buffer.from(bytes).toString('utf8'))).data;
}

async function writeOverlay(
  versions: KeptVersions,
  version: string,
  bytes: Uint8Array,
  folder: string,
): Promise<LoadOptions> {
  const kept = keptOverlaySchema.safeParse(JSON.parse(Buffer.from(bytes).toString('utf8')));
  if (!kept.success) throw new NotKeptError(`the rules ${version} can’t be read by this version`);
  const below = await writeRules(versions, kept.data.base, folder);
  const file = join(folder, 'account-overlay.yaml');
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(kept.data.overlay));
  return { ...below, overlays: [...(below.overlays ?? []), file] };
}

/** Writes a kept model's files into a folder. @throws NotKeptError */
export async function writeModel(versions: KeptVersions, version: string, folder: string): Promise<void> {
  const files = await versions.get('model', version);
  if (files === undefined) throw new NotKeptError(`the model ${version} isn’t kept`);
  for (const [name, bytes] of files) writeFileSync(join(folder, name), bytes);
}
