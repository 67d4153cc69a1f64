import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadPack } from '../../src/adapters/packs/load-pack.js';
import { bundlePack, readPackBundle } from '../../src/adapters/packs/pack-bundle.js';
import { readPackFolder } from '../../src/adapters/packs/pack-folder.js';
import { writePrepared } from '../../src/adapters/packs/prepared-file.js';
import { compilePack } from '../../src/engine/rules/compile-pack.js';
import { PackError } from '../../src/engine/rules/pack/pack-error.js';
import { stackPacks } from '../../src/engine/rules/pack/stack-packs.js';
import { buildViews } from '../../src/engine/text/views.js';

const FOLDER = join('rules', 'core');
const made = bundlePack(FOLDER);

function laid(bundle: string, prepared?: Uint8Array): string {
  const path = join(mkdtempSync(join(tmpdir(), 'portcullis-bundle-')), 'pack.json');
  writeFileSync(path, bundle);
  if (prepared) writeFileSync(path.replace('.json', '.bin'), prepared);
  return path;
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

const stack = (...contents: Parameters<typeof stackPacks>[0]) =>
  stackPacks(contents, { overlays: [], today: '2026-01-01', sha256: (text) => text.slice(0, 64) }).pack;

describe('a pack bundle', () => {
  const { content } = readPackFolder(FOLDER);

  it('has the content of its folder and its prepared patterns', () => {
    const { prepared, isChecked, digest, ...carried } = readPackBundle(laid(made.bundle, made.prepared));
    expect(carried).toEqual(content);
    expect(isChecked).toBe(true);
    const again = prepared && writePrepared(prepared, content.rules, made.bundle, digest ?? '', sha256);
    // Not `toEqual`: a million numbers one by one.
    expect(again && Buffer.compare(again, made.prepared)).toBe(0);
    expect(prepared?.folded.patterns.size).toBeGreaterThan(1000);
  }, 60_000);

  it('gives the rules version of its folder', () => {
    const version = (pack: string): string => loadPack({ packs: [pack], today: '2026-01-01' }).pack.rulesVersion;
    expect(version(laid(made.bundle, made.prepared))).toBe(version(FOLDER));
    expect(version(laid(made.bundle))).toBe(version(FOLDER));
  }, 60_000);

  it('finds with its prepared patterns what its folder finds, under an overlay', () => {
    const overlay = join(mkdtempSync(join(tmpdir(), 'portcullis-bundle-')), 'overlay.yaml');
    writeFileSync(overlay, 'rules: { override.ignore-all-instructions: off }\n');
    const open = (name: string, overlays: readonly string[]) => {
      const { pack } = loadPack({ packs: [name], overlays, today: '2026-01-01' });
      return compilePack({ ...pack, isChecked: true });
    };
    const { views } = buildViews(readFileSync(join('bench', 'texts', 'attacks.txt'), 'utf8').repeat(8));
    const bundle = laid(made.bundle, made.prepared);
    const options = { exhaustive: true };
    const found = open(bundle, [overlay]).scan(views, options);
    expect(found.findings.length).toBeGreaterThan(0);
    expect(found).toEqual(open(FOLDER, [overlay]).scan(views, options));
  }, 120_000);

  it('lends its patterns to the bottom layer alone, as word lists from below may change them', () => {
    const bottom = readPackBundle(laid(made.bundle, made.prepared));
    const upper = { ...bottom, head: { ...bottom.head, name: 'upper' }, rules: [] };
    const layers = stack(bottom, upper).layers;
    expect(layers.map(({ prepared }) => prepared === bottom.prepared)).toEqual([true, false]);
    expect(layers[1]?.prepared).toBeUndefined();
  }, 60_000);

  it('of another format is refused', () => {
    const other = JSON.stringify({ ...JSON.parse(made.bundle), format: 1 });
    expect(() => readPackBundle(laid(other))).toThrow(/format/);
  });

  it.each([
    ['a missing end', made.bundle.slice(0, -100)],
    ['another kind of content', 'SECRET'],
    ['null', 'null'],
  ])('with %s is refused by a PackError that does not quote it, with prepared patterns beside it too', (_, bundle) => {
    for (const [prepared, message] of [
      [undefined, /^PACK010 pack: \S+ isn't a pack bundle of format 4\. Rebuild it\.$/],
      [made.prepared, /^PACK010 pack: \S+ doesn't belong to \S+, or is damaged\. Reinstall, or rebuild both\.$/],
    ] as const) {
      const read = () => readPackBundle(laid(bundle, prepared));
      expect(read).toThrow(PackError);
      expect(read).toThrow(message);
    }
  });

  it.each([
    ['a damaged byte', (file: Buffer) => Buffer.concat([file.subarray(0, -1), Buffer.of(7)])],
    ['a missing end', (file: Buffer) => file.subarray(0, -100)],
    ['another kind of file', () => Buffer.from('no bundle')],
    [
      'another format',
      (file: Buffer) => Buffer.from(file.toString('latin1').replace(/"format":\d/, '"format":9'), 'latin1'),
    ],
  ])('with prepared patterns that have %s is refused', (_, damage) => {
    expect(() => readPackBundle(laid(made.bundle, damage(Buffer.from(made.prepared))))).toThrow(/damaged/);
  });

  it('with the prepared patterns of another pack is refused', () => {
    const other = JSON.stringify({ ...JSON.parse(made.bundle), words: {} });
    expect(() => readPackBundle(laid(other, made.prepared))).toThrow(/belong/);
  });
});
