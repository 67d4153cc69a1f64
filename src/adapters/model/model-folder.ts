import { hash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ModelError } from '../../engine/errors.js';
import { type ModelManifest, parseManifest } from '../../engine/model/manifest.js';
import { packageBesideLibrary, packageFolder } from '../package-folder.js';

/** A model whose every file is the one that its manifest names. */
export interface ModelFolder {
  readonly manifest: ModelManifest;
  /** `<id>-<version>+<first 12 hex digits of the manifest's sha256>`: it covers every other file's digest. */
  readonly version: string;
}

/** Larger ones are no model of ours: a mistake, or an attempt to fill the memory. Bytes. */
const MAX_FILE_BYTES = 2 ** 30;

/**
 * Reads the manifest of a model folder and checks every file's length and sha256 against it.
 *
 * @throws ModelError `MODEL_MISSING`, `MODEL_MANIFEST`, `MODEL_DIGEST`
 */
export async function readModelFolder(folder: string): Promise<ModelFolder> {
  const text = await readModelFile(folder, 'manifest.json');
  const manifest = parseManifest(text.toString('utf8'));
  for (const [name, { sha256: expected, bytes }] of Object.entries(manifest.files)) {
    const file = await readModelFile(folder, name);
    if (file.length !== bytes || hash('sha256', file) !== expected) {
      throw new ModelError('MODEL_DIGEST', `${name} differs from its sha256 in the manifest`);
    }
  }
  return { manifest, version: `${manifest.id}-${manifest.version}+${hash('sha256', text).slice(0, 12)}` };
}

/**
 * Returns the path of a model's file: in its folder or, where that lacks it, in the folder of the model that comes with the library, if
 * both manifests give the file the same digest.
 */
export function findModelFile(folder: string, name: string): string {
  const own = join(folder, name);
  const library = existsSync(own) ? undefined : libraryModel();
  if (library === undefined) return own;
  const [wanted, shared] = [folder, library].map((place) => readDigest(place, name));
  return wanted !== undefined && wanted === shared ? join(library, name) : own;
}

/** Returns the digest that a manifest gives a file; undefined where it can't be read or has none. */
function readDigest(folder: string, name: string): string | undefined {
  try {
    return parseManifest(readFileSync(join(folder, 'manifest.json'), 'utf8')).files[name]?.sha256;
  } catch {
    // Why the manifest can't be read is told by `readModelFolder`.
    return undefined;
  }
}

/** Reads a file of a model, found by `findModelFile`. @throws ModelError `MODEL_MISSING` */
export async function readModelFile(folder: string, name: string): Promise<Buffer> {
  try {
    const file = findModelFile(folder, name);
    if ((await stat(file)).size > MAX_FILE_BYTES) throw new ModelError('MODEL_MANIFEST', `${name} is over 1 GiB`);
    return await readFile(file);
  } catch (cause) {
    if (cause instanceof ModelError) throw cause;
    throw new ModelError('MODEL_MISSING', whatIsMissing(folder, name), { cause });
  }
}

function whatIsMissing(folder: string, name: string): string {
  if (!existsSync(folder)) return `no model folder and no installed package is named ${folder}`;
  if (!existsSync(join(folder, 'manifest.json')))
    return `${folder} is not the folder of a model: it has no manifest.json`;
  return `the model folder has no readable ${name}: install the model again, in the version that goes with this library`;
}

const PACKAGE_NAME = 'portcullis';
/** The package of the optional model: its folder in the repository has the same name, and so has the id in its manifest. */
const MODEL_PACKAGE = 'portcullis-multilingual-1';

/**
 * Finds a model's folder. Without a name: of the optional model if its package is installed beside the library, otherwise of the model
 * that comes with the library; undefined where it was installed without one. A name is the id of the library's model, a package
 * beside the library, a folder, or a package for the current folder, in this order; what is none of them is returned as it is, and
 * `loadModel` says that it isn't there.
 *
 * The current folder may be anybody's: a command or a hook that runs there must not take a model from it that allows everything. So
 * without a name nothing is looked up there, and nothing in it stands for a model that is installed.
 */
export function findModel(named?: string): string | undefined {
  if (named === undefined) return packageBesideLibrary(MODEL_PACKAGE) ?? libraryModel();
  const own = libraryModel();
  if (own !== undefined && basename(own) === named) return own;
  return packageBesideLibrary(named) ?? (existsSync(named) ? named : (packageFolder(named) ?? named));
}

function libraryModel(): string | undefined {
  const root = packageRoot();
  const models = root && join(root, 'models');
  if (models === undefined || !existsSync(models)) return undefined;
  const ids = readdirSync(models).sort();
  const id = ids.find((name) => existsSync(join(models, name, 'manifest.json')));
  return id && join(models, id);
}

function packageRoot(): string | undefined {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const file = join(folder, 'package.json');
    if (existsSync(file)) {
      const { name } = JSON.parse(readFileSync(file, 'utf8')) as { readonly name?: unknown };
      if (name === PACKAGE_NAME) return folder;
    }
    if (dirname(folder) === folder) return undefined;
  }
}
