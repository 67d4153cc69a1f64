import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonMistake } from '../../../src/service/http/json-body.js';

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
