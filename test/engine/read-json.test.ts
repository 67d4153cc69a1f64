import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, JsonNumber } from '../../src/engine/canonical-json.js';
import { readJson } from '../../src/engine/read-json.js';

const UNBOUNDED = { depth: Number.POSITIVE_INFINITY };

/** The position of a mistake of syntax; the end of a text that is JSON. */
function jsonMistake(text: string): number {
  const reading = readJson(text, UNBOUNDED);
  return 'problem' in reading ? reading.position : text.length;
}

/** The same value with white space between its tokens, and its names escaped. */
const spaced = (json: string): string =>
  json.replace(/"(?:[^"\\]|\\.)*"|[[\]{},:]/g, (token) => (token.startsWith('"') ? token : ` ${token}\n\t`));

describe('a JSON text', () => {
  it('gives the value that JSON.parse gives, and itself without white space', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        const json = JSON.stringify(value);
        const reading = readJson(spaced(json), UNBOUNDED);
        expect(reading).toEqual({ value: JSON.parse(json), text: json, repeated: undefined });
        expect(readJson(json, { ...UNBOUNDED, exact: true })).toMatchObject({ text: json });
      }),
      { numRuns: 2_000 },
    );
  });

  it('is refused where JSON.parse refuses it, and nowhere else', () => {
    const pieces = [
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"\\u0061"',
      '"\\x"',
      '"',
      '1',
      '-',
      '1e5',
      'true',
      'nul',
      ' ',
      '\n',
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 9 }), (some) => {
        const text = some.join('');
        let value: unknown;
        try {
          value = JSON.parse(text);
        } catch {
          expect(readJson(text, UNBOUNDED)).toMatchObject({ problem: 'syntax' });
          return;
        }
        expect(readJson(text, UNBOUNDED)).toMatchObject({ value });
      }),
      { numRuns: 20_000 },
    );
  });

  it.each([
    ['{"a":1,"a":2}', 7],
    ['{"a":{"b":1},"\\u0061":2}', 13],
    ['{"__proto__":1,"__proto__":2}', 15],
    ['{"a":[{"a":1},{"a":2}]}', undefined],
    ['{"toString":1}', undefined],
  ])('%s repeats a name at %s', (text, repeated) => {
    expect(readJson(text, UNBOUNDED)).toMatchObject({ value: JSON.parse(text), repeated });
  });

  it('keeps a member named __proto__ as a member', () => {
    const { value } = readJson('{"__proto__":{"a":1}}', UNBOUNDED) as { readonly value: object };
    expect(Object.keys(value)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  it.each(['1e400', '12345678901234567890', '0.1234567890123456789', '-1e-400'])(
    'keeps %s where it is asked to',
    (text) => {
      expect(readJson(text, { ...UNBOUNDED, exact: true })).toMatchObject({ value: new JsonNumber(text) });
      expect(readJson(text, UNBOUNDED)).toMatchObject({ value: Number(text) });
      expect(canonicalJson((readJson(`[${text}]`, { ...UNBOUNDED, exact: true }) as { value: unknown }).value)).toBe(
        `[${text}]`,
      );
    },
  );

  it.each(['1.50', '1e3', '0.1', '1234567890123456e-3'])('makes a number of %s', (text) => {
    expect(readJson(text, { ...UNBOUNDED, exact: true })).toMatchObject({ value: Number(text) });
  });

  it('stops at its bounds, however long the text is', () => {
    expect(readJson('['.repeat(1_000_000), { depth: 64 })).toEqual({ problem: 'depth', position: 64 });
    expect(readJson(`[${'1,'.repeat(1_000_000)}1]`, { depth: 64, values: 10 })).toEqual({
      problem: 'values',
      position: 19,
    });
    expect(readJson('[1,[2,{"a":3}]]', { depth: 3, values: 6 })).toMatchObject({ value: [1, [2, { a: 3 }]] });
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    expect(readJson(deep, UNBOUNDED)).toMatchObject({ text: deep });
  });
});

describe('where a text stops being JSON', () => {
  it.each<[string, number]>([
    ['', 0],
    ['  ', 2],
    ['x', 0],
    ['{', 1],
    ['{"a"', 4],
    ['{"a" 1}', 5],
    ['{"a":}', 5],
    ['{"a":1,}', 7],
    ['{,}', 1],
    ['{]', 1],
    ['[1,]', 3],
    ['[,1]', 1],
    ['[1 2]', 3],
    ['[1}', 2],
    [']', 0],
    ['[]]', 2],
    ['1 1', 2],
    ['01', 1],
    ['1.', 1],
    ['-', 0],
    ['+1', 0],
    ['.5', 0],
    ['tru', 3],
    ['truth', 0],
    ['NaN', 0],
    ['"a', 2],
    ['"a\n"', 2],
    ['"a\\x"', 2],
    ['"a\\u12"', 2],
    ['{"a":1 "b":2}', 7],
    ["{'a':1}", 1],
    ['[1]\u00a0', 3],
    ['// c\n1', 0],
  ])('%j at %i', (text, position) => {
    expect(() => JSON.parse(text)).toThrow();
    expect(jsonMistake(text)).toBe(position);
  });

  it('a wrong character is found where it stands, or at the start of the token that holds it', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), fc.nat(), (json, place) => {
        const at = place % (json.length + 1);
        const text = `${json.slice(0, at)}\u0000${json.slice(at)}`;
        const position = jsonMistake(text);
        expect(position).toBeLessThanOrEqual(at);
        expect(text.slice(position, at)).toMatch(/^(\\u?[0-9a-f]*|[-+.\w]*)$/i);
      }),
      { numRuns: 5_000 },
    );
  });

  it('a cut text is unfinished, or wrong in the token that was cut', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), fc.nat(), (json, place) => {
        const text = json.slice(0, place % json.length);
        const position = jsonMistake(text);
        expect(position).toBeLessThanOrEqual(text.length);
        expect(text.slice(position)).toMatch(/^(\\u?[0-9a-f]*|-|\.|e[-+]?)?$/i);
      }),
      { numRuns: 5_000 },
    );
  });

  it('takes a time that is linear in the text', () => {
    const text = `{"input":"${'a\\n'.repeat(300_000)}",`;
    const started = process.cpuUsage().user;
    expect(jsonMistake(text)).toBe(text.length);
    expect(process.cpuUsage().user - started).toBeLessThan(1_000_000);
  });
});
