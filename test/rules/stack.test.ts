import { describe, expect, it } from 'vitest';
import { compilePack } from '../../src/engine/rules/compile-pack.js';
import { overlaySchema } from '../../src/engine/rules/pack/overlay-schema.js';
import { PackError } from '../../src/engine/rules/pack/pack-error.js';
import {
  overlayChange,
  type PackContent,
  type StackOptions,
  stackPacks,
} from '../../src/engine/rules/pack/stack-packs.js';
import { hits, makeRule, scan } from './make-pack.js';

const head = { name: 'base', version: '1.2.3', description: 'd', licence: 'x', threshold: 0.5, paranoia: 1 } as const;
const base: PackContent = {
  head,
  words: { animal: ['cat', 'dog'] },
  rules: [
    makeRule({ id: 'a.one', match: { any: ['feed the {{animal}}'] } }),
    makeRule({ id: 'a.two', match: { any: ['walk the {{animal}}'] }, paranoia: 2 }),
  ],
};
const own: PackContent = {
  head: { ...head, name: 'own', threshold: 0.9 },
  words: { animal: ['hen'] },
  rules: [makeRule({ id: 'b.three', match: { any: ['sell the {{animal}}'] } })],
};

/** Not a digest, but as sensitive as one to what it is given. */
const sha256 = (text: string): string => {
  let sum = 0n;
  for (const letter of text) sum = (sum * 1_000_003n + BigInt(letter.codePointAt(0) ?? 0)) % (1n << 256n);
  return sum.toString(16).padStart(64, '0');
};
const stack = (contents: readonly PackContent[], overlays: readonly unknown[] = [], today = '2026-06-01') =>
  stackPacks(contents, {
    overlays: overlays.map((overlay, at) => ({ name: `${at}.yaml`, overlay: overlaySchema.parse(overlay) })),
    today,
    sha256,
  } satisfies StackOptions);
const compiled = (...args: Parameters<typeof stack>) => compilePack(stack(...args).pack);
const entry = { reason: 'a test', expires: '2026-12-31' };

describe('stacked packs', () => {
  it('take threshold and version from the lowest, and keep word lists apart', () => {
    const pack = compiled([base, own]);
    expect(pack.threshold).toBe(0.5);
    expect(pack.name).toBe('base+own');
    expect(hits(pack, 'feed the cat, sell the hen, feed the hen, sell the cat')).toEqual([
      'feed the cat',
      'sell the hen',
    ]);
  });

  it('may not share a rule id', () => {
    expect(() => stack([base, base])).toThrow(PackError);
  });

  it('have a version that any character changes', () => {
    const version = (contents: readonly PackContent[], overlays: readonly unknown[] = []): string =>
      stack(contents, overlays).pack.rulesVersion;
    const other = { ...base, rules: [makeRule({ id: 'a.one', match: { any: ['feed the {{animal}}!'] } })] };
    const words = { ...base, words: { animal: ['cat', 'dogs'] } };
    const versions = [
      version([base]),
      version([other]),
      version([words]),
      version([base, own]),
      version([base], [{ threshold: 0.6 }]),
      version([base], [{ allow: [{ ...entry, text: 'x' }] }]),
    ];
    expect(new Set(versions).size).toBe(versions.length);
    for (const one of versions) expect(one).toMatch(/^1\.2\.3\+[0-9a-f]{12}$/);
    expect(version([{ ...base, rules: [...base.rules].reverse() }])).toBe(versions[0]);
  });
});

describe('an overlay', () => {
  it('switches off, re-scores and changes levels; the later one wins', () => {
    expect(hits(compiled([base], [{ rules: { 'a.one': 'off' } }]), 'feed the cat')).toEqual([]);
    expect(scan(compiled([base], [{ rules: { 'a.one': { score: 0.2 } } }]), 'feed the cat').score).toBeCloseTo(0.2);
    const later = [{ rules: { 'a.one': { score: 0.2 } } }, { rules: { 'a.one': { score: 0.7 } }, threshold: 0.65 }];
    expect(scan(compiled([base], later), 'feed the cat').score).toBeCloseTo(0.7);
    expect(compiled([base], later).threshold).toBe(0.65);
    expect(hits(compiled([base], [{ paranoia: 2 }]), 'walk the dog')).toEqual(['walk the dog']);
  });

  it('puts a rule into shadow, and takes it out again', () => {
    const shadow = { rules: { 'a.one': { status: 'experimental' as const } } };
    const watched = scan(compiled([base], [shadow]), 'feed the cat');
    expect([watched.score, watched.findings.length, watched.shadow.length]).toEqual([0, 0, 1]);
    const back = { rules: { 'a.one': { status: 'stable' as const, score: 0.4 } } };
    expect(scan(compiled([base], [shadow, back]), 'feed the cat').score).toBeCloseTo(0.4);
  });

  it.each([
    ['a text', { text: 'Please FEED the  cat' }, []],
    ['a pattern', { pattern: 'please feed the [a-z]+' }, []],
    ['for its rule', { text: 'please feed the cat', rule: 'a.one' }, []],
    ['for another rule', { text: 'please feed the cat', rule: 'a.two' }, ['feed the cat']],
    ['another text', { text: 'please feed the dog' }, ['feed the cat']],
    ['expired', { text: 'please feed the cat', expires: '2026-05-31' }, ['feed the cat']],
    ['on its last day', { text: 'please feed the cat', expires: '2026-06-01' }, []],
  ])('allows %s', (_, allow, found) => {
    expect(hits(compiled([base], [{ allow: [{ ...entry, ...allow }] }]), 'Now please feed the cat!')).toEqual(found);
  });

  it('allows a long exact text in a long document', () => {
    const text = `${'some kind words, '.repeat(60)}please feed the cat`;
    const pack = compiled([base], [{ allow: [{ ...entry, text }] }]);
    expect(hits(pack, `${'tree '.repeat(1500)}${text} ${'tree '.repeat(1200)} feed the dog`)).toEqual(['feed the dog']);
  });

  it('reports expired entries', () => {
    const { notices } = stack([base], [{ allow: [{ ...entry, text: 'x', expires: '2026-05-31' }] }]);
    expect(notices.map(({ code, place }) => [code, place.name, place.path])).toEqual([
      ['PACK051', '0.yaml', ['allow', 0, 'expires']],
    ]);
  });

  it.each([
    ['PACK050', { rules: { 'a.none': 'off' } }],
    ['PACK050', { allow: [{ ...entry, text: 'x', rule: 'a.none' }] }],
    ['PACK052', { allow: [{ ...entry }] }],
    ['PACK052', { allow: [{ ...entry, text: 'x', pattern: 'y' }] }],
  ])('refuses %s', (code, overlay) => {
    expect(() => stack([base], [overlay])).toThrow(code);
  });
});

describe('an overlay on a compiled pack', () => {
  const texts = [
    'feed the cat',
    'Now please feed the cat, then walk the dog!',
    'walk the dog and sell the hen',
    `${'tree '.repeat(1500)}please feed the cat ${'tree '.repeat(1200)} feed the dog`,
    'nothing',
  ];
  const below = { rules: { 'a.two': { paranoia: 1 as const } } };

  it.each([
    ['thresholds', { threshold: 0.8, model_threshold: 0.9 }],
    ['an operating point', { operating_point: 'strict' }],
    ['an operating point by channel', { operating_point: { user: 'permissive' } }],
    ['a rule off', { rules: { 'a.one': 'off' } }],
    ['a score', { rules: { 'a.one': { score: 0.2 }, 'b.three': { score: 0.99 } } }],
    ['a rule in shadow', { rules: { 'a.one': { status: 'experimental' } } }],
    ['a level', { paranoia: 2, rules: { 'a.one': { paranoia: 3 } } }],
    ['an allowed text', { allow: [{ ...entry, text: 'please feed the cat' }] }],
    ['an allowed pattern of one rule', { allow: [{ ...entry, pattern: 'feed the {{animal}}', rule: 'a.one' }] }],
    ['an entry that has expired', { allow: [{ ...entry, text: 'feed the cat', expires: '2026-05-31' }] }],
  ])('decides as the whole stack does: %s', (_, overlay) => {
    const whole = compiled([base, own], [below, overlay]);
    const change = overlayChange(overlaySchema.parse(overlay), '2026-06-01', whole.rulesVersion);
    const changed = compiled([base, own], [below]).withChange(change);
    expect(changed).toMatchObject({
      rulesVersion: whole.rulesVersion,
      threshold: whole.threshold,
      paranoia: whole.paranoia,
      packs: whole.packs,
    });
    expect(changed.modelThreshold).toEqual(whole.modelThreshold);
    expect(changed.rules.map(({ id, score }) => [id, score])).toEqual(whole.rules.map(({ id, score }) => [id, score]));
    for (const text of texts)
      expect(scan(changed, text, { exhaustive: true }), text.slice(0, 40)).toEqual(
        scan(whole, text, { exhaustive: true }),
      );
  });

  it('leaves the pack below as it was', () => {
    const pack = compiled([base]);
    pack.withChange(overlayChange(overlaySchema.parse({ rules: { 'a.one': 'off' } }), '2026-06-01', 'x'));
    expect(hits(pack, 'feed the cat')).toEqual(['feed the cat']);
  });
});
