import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadPack } from '../../src/adapters/packs/load-pack.js';
import { readPackBundle, writePackBundle } from '../../src/adapters/packs/pack-bundle.js';
import { readPackFolder } from '../../src/adapters/packs/pack-folder.js';
import { PackError } from '../../src/engine/rules/pack/pack-error.js';

const FOLDER = join('rules', 'core');
const { content } = readPackFolder(FOLDER);
const bundle = writePackBundle(content);

function laid(text: string): string {
  const path = join(mkdtempSync(join(tmpdir(), 'portcullis-bundle-')), 'pack.json');
  writeFileSync(path, text);
  return path;
}

describe('a pack bundle', () => {
  it('has the content and the rules version of its folder', () => {
    expect(readPackBundle(laid(bundle))).toEqual({ ...content, isChecked: true });
    const version = (pack: string): string => loadPack({ packs: [pack], today: '2026-01-01' }).pack.rulesVersion;
    expect(version(laid(bundle))).toBe(version(FOLDER));
  }, 60_000);

  it('of another format is refused', () => {
    const other = JSON.stringify({ ...JSON.parse(bundle), format: 1 });
    expect(() => readPackBundle(laid(other))).toThrow(/format/);
  });

  it.each([
    ['a missing end', bundle.slice(0, -100)],
    ['another kind of content', 'SECRET'],
    ['null', 'null'],
  ])('with %s is refused by a PackError that does not quote it', (_, text) => {
    const read = () => readPackBundle(laid(text));
    expect(read).toThrow(PackError);
    expect(read).toThrow(/^PACK010 pack: \S+ isn't a pack bundle of format 4\. Rebuild it\.$/);
  });
});
