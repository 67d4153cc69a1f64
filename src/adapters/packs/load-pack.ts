import { hash } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Overlay } from '../../engine/rules/pack/overlay-schema.js';
import { PackError } from '../../engine/rules/pack/pack-error.js';
import { type PackContent, type StackedPack, stackPacks } from '../../engine/rules/pack/stack-packs.js';
import type { Rule } from '../../engine/rules/types.js';
import { packageFolder } from '../package-folder.js';
import { corePackPath } from './core-pack-path.js';
import { type MinisignKey, readPublicKey } from './minisign.js';
import { readPackBundle } from './pack-bundle.js';
import { readPackFolder, withPlaces } from './pack-folder.js';
import { readOverlay } from './pack-overlay.js';
import type { PackSources } from './pack-yaml.js';
import { readPreparedPack, sharePreparedPack } from './prepared-pack.js';

/** The packs and overlays to load. */
export interface LoadOptions {
  /**
   * Packs on top of `core`, the one that comes with the library, from the bottom up: each a folder, a bundle (`*.json`)
   * or the name of an npm package whose root, or the folder that its `portcullis.pack` names, is a pack. `core` says
   * where in the list the library's pack lies; a pack that is itself named `core` takes its place; `NO_CORE` leaves it out.
   * With an entry `TRUST` and a public key of minisign, every pack but the library's own must be a bundle that it signed.
   */
  readonly packs?: readonly string[] | undefined;
  /** False: without `core`, by `packs` alone. Default true. */
  readonly core?: boolean | undefined;
  /** Paths of local overlay files (YAML), a later one wins. */
  readonly overlays?: readonly string[] | undefined;
  /** Today in UTC, `YYYY-MM-DD`: allow-list entries that expired earlier are inactive. */
  readonly today: string;
}

export interface LoadedPack extends StackedPack {
  readonly sources: PackSources;
  /** The rules of the packs named in the options; those of `core` if none was named. */
  readonly named: readonly Rule[];
  /** Stacked packs, from the bottom up. */
  readonly contents: readonly PackContent[];
  readonly overlays: readonly Overlay[];
  /** The folder or bundle that each of `contents` was read from. */
  readonly paths: readonly string[];
}

/** The pack that comes with the library. */
const CORE = 'core';
/** In a list of packs: leave `core` out. */
export const NO_CORE = '-core';
/** In a list of packs, with a public key of minisign after it: whose signature the other packs need. Several: one of them. */
export const TRUST = '-trust=';

/**
 * Loads packs and an overlay from files. Reads synchronously: it is done once, at start.
 *
 * @throws PackError with every mistake, each with its file, line and a caret
 */
export function loadPack(options: LoadOptions): LoadedPack {
  const trusted = (options.packs ?? []).filter((name) => name.startsWith(TRUST)).map(trustedKey);
  const named = (options.packs ?? [])
    .filter((name) => name !== NO_CORE && !name.startsWith(TRUST))
    .map((name) => readPack(name, trusted));
  const isWithoutCore = options.core === false || (options.packs ?? []).includes(NO_CORE);
  const isCoreNamed = named.some(({ content }) => content.head.name === CORE);
  const parts = isWithoutCore || isCoreNamed ? named : [readPack(CORE), ...named];
  const isCoreAdded = named.length > 0 && parts.length > named.length;
  const overlays = (options.overlays ?? []).map(readOverlay);
  const sources: PackSources = {
    fileOf: (problem) =>
      problem.place.in === 'overlay'
        ? overlays.find(({ name }) => name === problem.place.name)?.file
        : parts.map((part) => part.sources?.fileOf(problem)).find((file) => file !== undefined),
  };
  const contents = parts.map((part) => part.content);
  try {
    const stacked = stackPacks(contents, { overlays, today: options.today, sha256: (text) => hash('sha256', text) });
    const { layers } = stacked.pack;
    return {
      ...stacked,
      named: layers.slice(isCoreAdded ? 1 : 0).flatMap(({ rules }) => rules),
      sources,
      contents,
      overlays: overlays.map(({ overlay }) => overlay),
      paths: parts.map(({ path }) => path),
    };
  } catch (error) {
    throw error instanceof PackError ? withPlaces(error, sources) : error;
  }
}

/** Has this thread and those it starts from now on share the data of the library's own pack, where it is prepared. */
export function shareCorePack(): void {
  const path = corePackPath();
  if (path?.endsWith('.bin')) sharePreparedPack(path);
}

interface PackPart {
  readonly path: string;
  readonly content: PackContent;
  readonly sources?: PackSources;
}

function readPack(name: string, trusted: readonly MinisignKey[] = []): PackPart {
  if (name === CORE) {
    const path = corePackPath();
    if (path === undefined) throw missing('The core pack');
    return path.endsWith('.bin') ? { path, content: readPreparedPack(path) } : readPack(path);
  }
  if (name.endsWith('.json') || trusted.length > 0) return { path: name, content: readPackBundle(name, trusted) };
  const path = existsSync(name) && statSync(name).isDirectory() ? name : packFolder(name);
  return { path, ...readPackFolder(path) };
}

function trustedKey(entry: string): MinisignKey {
  const key = readPublicKey(entry.slice(TRUST.length));
  if (key === undefined) throw missing('A public key of minisign after --trust');
  return key;
}

function packFolder(name: string): string {
  const root = packageFolder(name);
  if (root === undefined) throw missing(`The pack \`${name}\``);
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { portcullis?: { pack?: string } };
  return join(root, manifest.portcullis?.pack ?? '.');
}

function missing(what: string): PackError {
  const message = `${what} isn't there.`;
  return new PackError([
    { code: 'PACK006', message, advice: 'Check the name.', place: { in: 'pack', name: '', path: [] } },
  ]);
}
