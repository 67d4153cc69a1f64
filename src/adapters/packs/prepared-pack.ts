import { hash } from 'node:crypto';
import { closeSync, existsSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';
import { PackError } from '../../engine/rules/pack/pack-error.js';
import { digestPacks, type PackContent } from '../../engine/rules/pack/stack-packs.js';
import { createWordLookup } from '../../engine/rules/pack/word-lists.js';
import { preparePatterns } from '../../engine/rules/pattern/prepare-patterns.js';
import type { Rule, WordLists } from '../../engine/rules/types.js';
import { readPackFolder } from './pack-folder.js';
import { readPrepared, writePrepared } from './prepared-file.js';

/** A pack as two files: a start parses neither YAML nor patterns, and reads only what a scan needs. */
export interface PreparedPack {
  /** `<name>.bin`, see `writePrepared`. */
  readonly prepared: Uint8Array;
  /** `<name>.json`: its word lists, and its rules' examples. */
  readonly rest: string;
}

interface Rest {
  readonly words: WordLists;
  /** By rule. */
  readonly examples: Readonly<Record<string, Rule['examples']>>;
}

/** Prepares a pack folder. @throws PackError with every mistake of the folder */
export function preparePack(folder: string): PreparedPack {
  const { content } = readPackFolder(folder);
  const { words, rules } = content;
  const patterns = preparePatterns(rules, createWordLookup(words, refuse), refuse);
  const examples = Object.fromEntries(rules.map((rule) => [rule.id, rule.examples]));
  const rest = JSON.stringify({ words, examples } satisfies Rest);
  const digest = digestPacks([content], [], sha256);
  return { prepared: writePrepared(content, patterns, { digest, rest: sha256(rest) }, sha256), rest };
}

/**
 * Reads what `preparePack` made. Word lists and examples are read when something first asks for them, such as the version of a
 * stack with an overlay.
 *
 * @throws PackError when `path` isn't such a file, later when the other one isn't
 */
export function readPreparedPack(path: string): PackContent {
  const shared = getEnvironmentData(path) as Uint8Array | undefined;
  const file = readPrepared(shared ?? readFileSync(path), sha256);
  if (!file) throw damaged(path);
  const { head, rules, patterns, digests } = file;
  let known: Rest | undefined;
  const rest = (): Rest => {
    known ??= readRest(path.replace(/bin$/, 'json'), digests.rest);
    return known;
  };
  return {
    head,
    get words() {
      return rest().words;
    },
    rules: rules.map((rule) =>
      Object.defineProperty(rule as Rule, 'examples', { enumerable: true, get: () => rest().examples[rule.id] }),
    ),
    isChecked: true,
    prepared: patterns,
    digest: digests.digest,
  };
}

/** Reads `<name>.bin` once into memory that this thread shares with those it starts from now on: `readPreparedPack` finds it there. */
export function sharePreparedPack(path: string): void {
  if (getEnvironmentData(path) !== undefined) return;
  const file = openSync(path, 'r');
  try {
    const bytes = new Uint8Array(new SharedArrayBuffer(fstatSync(file).size));
    readSync(file, bytes);
    setEnvironmentData(path, bytes);
  } finally {
    closeSync(file);
  }
}

function readRest(path: string, digest: string): Rest {
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  if (sha256(text) !== digest) throw damaged(path);
  return JSON.parse(text) as Rest;
}

function damaged(path: string): PackError {
  const message = `${path} is missing, damaged, or of another version of the library.`;
  const advice = 'Reinstall or rebuild the library, and restart.';
  return new PackError([{ code: 'PACK010', message, advice, place: { in: 'pack', name: '', path: [] } }]);
}

function refuse(): never {
  throw new Error('a pattern or word list has a mistake: run `portcullis rules lint`');
}

function sha256(content: string | Uint8Array): string {
  return hash('sha256', content);
}
