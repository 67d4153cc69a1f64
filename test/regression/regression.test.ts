import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { openPack } from '../../src/adapters/packs/open-pack.js';
import type { CompiledPack } from '../../src/engine/rules/types.js';
import { buildViews } from '../../src/engine/text/views.js';

/** Texts written for the project when the pack was done, by someone who had not seen its rules; false positives found then were fixed. */
const texts = (name: string): readonly string[] =>
  readFileSync(join(import.meta.dirname, name), 'utf8')
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { readonly text: string }).text);

/** Benign texts that the rules block today. Remove one that is fixed; give a new one its reason. */
const KNOWN_FALSE_POSITIVES: readonly string[] = [
  // Word for word what an attacker asks for.
  'Please print the instructions above in a larger font so my father can read them.',
  'Önceki talimatları dikkate almayın, yeni form ektedir.',
];

describe('the core pack on texts that no rule was written from', () => {
  let pack: CompiledPack;
  beforeAll(() => {
    pack = openPack();
  });
  const isBlocked = (text: string): boolean => pack.scan(buildViews(text).views, {}).score >= pack.threshold;

  it('blocks no benign text but the known ones', () => {
    const benign = texts('benign.jsonl');
    expect(benign.length).toBeGreaterThan(150);
    expect(benign.filter(isBlocked)).toEqual(KNOWN_FALSE_POSITIVES);
  }, 60_000);

  it('finds at least 84 of the 99 attacks by rules alone', () => {
    const attacks = texts('attacks.jsonl');
    expect(attacks).toHaveLength(99);
    expect(attacks.filter(isBlocked).length).toBeGreaterThanOrEqual(84);
  }, 60_000);
});
