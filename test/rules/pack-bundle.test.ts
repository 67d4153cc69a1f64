import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bundlePack, readPackBundle } from '../../src/adapters/packs/pack-bundle.js';
import { readPackFolder } from '../../src/adapters/packs/pack-folder.js';
import { stackPacks } from '../../src/engine/rules/pack/stack-packs.js';
import { preparePatterns } from '../../src/engine/rules/pattern/prepared-patterns.js';

const FOLDER = join('rules', 'core');

function bundled(change: (bundle: Record<string, unknown>) => void = () => {}): string {
  const path = join(mkdtempSync(join(tmpdir(), 'portcullis-bundle-')), 'pack.json');
  const bundle = JSON.parse(bundlePack(FOLDER)) as Record<string, unknown>;
  change(bundle);
  writeFileSync(path, JSON.stringify(bundle));
  return path;
}

const stack = (...contents: Parameters<typeof stackPacks>[0]) =>
  stackPacks(contents, { overlays: [], today: '2026-01-01', sha256: (text) => text.slice(0, 64) }).pack;

describe('a pack bundle', () => {
  it('carries the content of its folder and each pattern as it would be prepared at a start', () => {
    const { content } = readPackFolder(FOLDER);
    const { prepared, isChecked, ...carried } = readPackBundle(bundled());
    expect(carried).toEqual(content);
    expect(isChecked).toBe(true);
    expect(prepared).toEqual(preparePatterns(content.rules, content.words));
    expect(prepared?.size).toBeGreaterThan(1000);
  }, 60_000);

  it('lends its patterns to the bottom layer alone, as word lists from below may change them', () => {
    const content = readPackBundle(bundled());
    const upper = { ...content, head: { ...content.head, name: 'upper' }, rules: [] };
    const layers = stack(content, upper).layers;
    expect(layers.map(({ prepared }) => prepared === content.prepared)).toEqual([true, false]);
    expect(layers[1]?.prepared).toBeUndefined();
  }, 60_000);

  it('of another format is refused', () => {
    expect(() => readPackBundle(bundled((bundle) => Object.assign(bundle, { format: 1 })))).toThrow(/format/);
  }, 60_000);
});
