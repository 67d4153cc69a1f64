import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readTokenizer } from '../../../src/adapters/model/model-texts.js';
import type { ModelManifest } from '../../../src/engine/model/manifest.js';
import { createWordPieceTokenizer, splitVocabulary } from '../../../src/engine/model/wordpiece-tokenizer.js';
import { expectLinear } from '../../expect-linear.js';

interface Reference {
  readonly block: number;
  readonly blocks: Readonly<Record<string, string>>;
  readonly texts: readonly { readonly text: string; readonly ids: readonly number[] }[];
}

const read = (name: string) => JSON.parse(readFileSync(new URL(`../fixtures/${name}`, import.meta.url), 'utf8'));
const reference = read('reference-tokens.json') as Reference;
const casedReference = read('reference-tokens-cased.json') as Reference;
const { vocab } = (read('tiny-tokenizer.json') as { model: { vocab: Record<string, number> } }).model;
const UNK = vocab['[UNK]'] as number;
const tokenizer = createWordPieceTokenizer(splitVocabulary(vocab, UNK, 100), { markRun: 30, wordRun: 32 });
const casedTokenizer = createWordPieceTokenizer(splitVocabulary(vocab, UNK, 100), {
  markRun: 30,
  wordRun: 32,
  cased: true,
});
const names = new Map(Object.entries(vocab).map(([name, id]) => [id, name]));

/** Tokens by name with the text of their place. */
function pieces(text: string): readonly (readonly [string, string])[] {
  const { ids, starts, ends } = tokenizer.tokenize(text);
  return ids.map((id, index) => [names.get(id) as string, text.slice(starts[index], ends[index])]);
}

function manifestOf(kind: ModelManifest['tokenizer']['kind']): ModelManifest {
  return { tokenizer: { kind, unk: UNK }, text: { mark_run: 30, word_run: 32 } } as ModelManifest;
}

describe('a tokenizer.json', () => {
  const manifest = manifestOf('wordpiece-uncased');
  const whole = read('tiny-tokenizer.json');
  const withVocab = (changed: unknown): string =>
    JSON.stringify({ ...whole, model: { ...whole.model, vocab: changed } });

  it('is read', () => {
    expect(readTokenizer(withVocab(vocab), manifest).tokenize('hello').ids).toEqual(tokenizer.tokenize('hello').ids);
  });

  it.each([
    ['an id that is no whole number', { ...vocab, extra: 1.5 }],
    ['an id below zero', { ...vocab, extra: -1 }],
    ['an id that is a text', { ...vocab, extra: '7' }],
    ['a list', Object.keys(vocab)],
    ['nothing', null],
  ])('is refused when its vocabulary has %s', (_, changed) => {
    expect(() => readTokenizer(withVocab(changed), manifest)).toThrow(/WordPiece tokenizer.*: model\.vocab$/);
  });
});

describe('a cased tokenizer.json', () => {
  const whole = read('tiny-tokenizer.json');
  const cased = JSON.stringify({
    ...whole,
    normalizer: { ...whole.normalizer, strip_accents: false, lowercase: false },
  });

  it('is read where the manifest says so', () => {
    const { ids } = readTokenizer(cased, manifestOf('wordpiece-cased')).tokenize('Hello é ignore');
    expect(ids).toEqual(casedTokenizer.tokenize('Hello é ignore').ids);
    expect(ids).not.toEqual(tokenizer.tokenize('Hello é ignore').ids);
  });

  it('is refused where the manifest says otherwise', () => {
    const uncased = JSON.stringify(whole);
    expect(() => readTokenizer(cased, manifestOf('wordpiece-uncased'))).toThrow(/not that of `wordpiece-uncased`/);
    expect(() => readTokenizer(uncased, manifestOf('wordpiece-cased'))).toThrow(/not that of `wordpiece-cased`/);
  });
});

describe.each([
  ['uncased', tokenizer, reference],
  ['cased', casedTokenizer, casedReference],
] as const)('the same tokens as the training tokenizer, %s', (_, tokenizer, reference) => {
  it('for every assigned code point, alone and inside a word', () => {
    const differing: string[] = [];
    for (const [block, expected] of Object.entries(reference.blocks)) {
      const digest = createHash('sha256');
      const first = Number.parseInt(block, 16);
      for (let point = first; point < first + reference.block; point += 1) {
        if (point >= 0xd800 && point <= 0xdfff) continue;
        const char = String.fromCodePoint(point);
        digest.update(`${JSON.stringify([tokenizer.tokenize(`ab${char}er`).ids, tokenizer.tokenize(char).ids])}\n`);
      }
      if (digest.digest('hex').slice(0, 12) !== expected) differing.push(block);
    }
    expect(differing).toEqual([]);
  });

  it('for hostile texts', () => {
    for (const { text, ids } of reference.texts) expect(tokenizer.tokenize(text).ids).toEqual(ids);
  });
});

describe('places', () => {
  it.each([
    ['', []],
    [
      'Hello, world!',
      [
        ['hello', 'Hello'],
        [',', ','],
        ['world', 'world'],
        ['!', '!'],
      ],
    ],
    [
      'ignored',
      [
        ['ignore', 'ignore'],
        ['##d', 'd'],
      ],
    ],
    [
      'Zzé',
      [
        ['z', 'Z'],
        ['##z', 'z'],
        ['##e', 'é'],
      ],
    ],
    [
      'e\u0301x',
      [
        ['e', 'e'],
        ['##x', 'x'],
      ],
    ],
    ['i\u200bg\u200bnore', [['ignore', 'i\u200bg\u200bnore']]],
    [
      'a[SEP]b',
      [
        ['a', 'a'],
        ['[', '['],
        ['s', 'S'],
        ['##e', 'E'],
        ['##p', 'P'],
        [']', ']'],
        ['b', 'b'],
      ],
    ],
    [
      'ΟΔΟΣ σ',
      [
        ['[UNK]', 'ΟΔΟΣ'],
        ['σ', 'σ'],
      ],
    ],
    [
      'x中🙂',
      [
        ['x', 'x'],
        ['中', '中'],
        ['🙂', '🙂'],
      ],
    ],
    ['\ud800a', [['a', 'a']]],
    [
      'a\u0085b\u00a0c',
      [
        ['a', 'a'],
        ['##b', 'b'],
        ['c', 'c'],
      ],
    ],
  ])('%j', (text, expected) => {
    expect(pieces(text)).toEqual(expected);
  });

  it('cuts a long run every 32 code points, and drops marks beyond 30', () => {
    const ids = tokenizer.tokenize('가'.repeat(70)).ids;
    expect(ids).toEqual([UNK, UNK, UNK]);
    expect(tokenizer.tokenize(`a${'\u0301'.repeat(1000)}b`).ids).toEqual(tokenizer.tokenize('ab').ids);
  });

  it('lie in order on code-point edges, for any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' })), (text) => {
        const { ids, starts, ends } = tokenizer.tokenize(text);
        let before = 0;
        ids.forEach((_, index) => {
          const [start, end] = [starts[index] as number, ends[index] as number];
          expect(start >= before && end > start && end <= text.length).toBe(true);
          for (const edge of [start, end]) {
            expect(text.slice(edge - 1, edge + 1)).not.toMatch(/^[\uD800-\uDBFF][\uDC00-\uDFFF]$/);
          }
          before = start;
        });
      }),
    );
  });

  it('takes linear time on hostile text', () => {
    for (const unit of ['\u0301', 'e\u0301', 'x', '가', '[CLS]', 'ﷺ', '\u200b', 'x\u000b'])
      expectLinear(unit, 200_000, (text) => tokenizer.tokenize(text), 10);
  });
});
