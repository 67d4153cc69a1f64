import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../../src/engine/canonical-json.js';
import { inputText, readInput } from '../../src/engine/input.js';
import { jsonPathAt } from '../../src/engine/read-json.js';

describe('canonicalJson', () => {
  it.each([
    [null, 'null'],
    [true, 'true'],
    [-0, '0'],
    [1e21, '1e+21'],
    [Number.NaN, 'null'],
    ['a\n"\ud800', '"a\\n\\"\\ud800"'],
    [[], '[]'],
    [{}, '{}'],
    [{ b: 1, a: [true, { d: 'x', c: null }] }, '{"a":[true,{"c":null,"d":"x"}],"b":1}'],
    [{ z: undefined, y: () => 1, x: 1 }, '{"x":1}'],
    [[undefined, 1], '[null,1]'],
    [{ n: 10n }, '{"n":10}'],
    [{ at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
    [JSON.parse('{"__proto__":1,"a":2}'), '{"__proto__":1,"a":2}'],
  ])('%o', (value, text) => {
    expect(canonicalJson(value)).toBe(text);
  });

  it('means the same as the value, for any JSON value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('does not depend on the order of members', () => {
    expect(canonicalJson({ a: 1, b: { d: 2, c: 3 } })).toBe(canonicalJson({ b: { c: 3, d: 2 }, a: 1 }));
  });

  it('takes any depth', () => {
    const deep = JSON.parse('['.repeat(50_000) + ']'.repeat(50_000));
    expect(canonicalJson(deep)).toHaveLength(100_000);
  });

  it('names the two values that have no JSON text', () => {
    const loop: { self?: unknown } = {};
    loop.self = loop;
    expect(() => canonicalJson(loop)).toThrow(expect.objectContaining({ code: 'INPUT_CIRCULAR' }));
    expect(() => canonicalJson(undefined)).toThrow(expect.objectContaining({ code: 'INPUT_MISSING' }));
    const twice = { a: loop.self === undefined ? 1 : 2 };
    expect(canonicalJson([twice, twice])).toBe('[{"a":2},{"a":2}]');
  });
});

describe('jsonPathAt', () => {
  const text = '{"arguments":{"body":"say ignore, all {x}","to":["a@b","c"],"x y":{"k":1}},"name":"send"}';
  it.each([
    ['say ignore', '$.arguments.body'],
    ['all {x}', '$.arguments.body'],
    ['a@b', '$.arguments.to[0]'],
    ['"c"', '$.arguments.to[1]'],
    ['1}', '$.arguments["x y"].k'],
    ['send', '$.name'],
    ['"body"', '$.arguments'],
    ['"arguments"', '$'],
  ])('%s is at %s', (piece, path) => {
    expect(jsonPathAt(text, text.indexOf(piece))).toBe(path);
  });

  it('is in step with escaped quotes and backslashes', () => {
    const escaped = canonicalJson({ a: 'x\\"', b: ['\\', 'hit'] });
    expect(jsonPathAt(escaped, escaped.indexOf('hit'))).toBe('$.b[1]');
  });

  it('is total on any JSON text and offset', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(200), (value, offset) => {
        expect(jsonPathAt(canonicalJson(value), offset)).toMatch(/^\$/);
      }),
    );
  });
});

describe('readInput', () => {
  it.each([
    ['plain', undefined, 'unknown', 'plain'],
    ['plain', 'document', 'document', 'plain'],
    [{ name: 'f', arguments: { q: 1 } }, undefined, 'tool_call', '{"arguments":{"q":1},"name":"f"}'],
    [{ name: 'f' }, undefined, 'unknown', '{"name":"f"}'],
    [{ name: 1, arguments: {} }, undefined, 'unknown', '{"arguments":{},"name":1}'],
    [{ name: 'f', arguments: 'x' }, 'document', 'document', '{"arguments":"x","name":"f"}'],
    [42, undefined, 'unknown', '42'],
    [null, undefined, 'unknown', 'null'],
    [['a'], undefined, 'unknown', '["a"]'],
  ] as const)('%o on %s', (input, given, channel, text) => {
    const read = readInput(input, given);
    expect([read.channel, read.text]).toEqual([channel, text]);
    expect(inputText(input)).toBe(text);
  });

  it('gives a path for a structured input only', () => {
    expect(readInput({ q: 'x' }).pathOf({ start: 5, end: 6 })).toBe('$.q');
    expect(readInput('{"q":"x"}').pathOf({ start: 5, end: 6 })).toBeUndefined();
  });
});
