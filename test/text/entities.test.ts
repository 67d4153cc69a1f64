import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { decodeEntities } from '../../src/engine/text/decode/escapes.js';

/** All names of HTML 5 as Python's `html.entities.html5` has them; 106 of them also without their semicolon. */
const NAMES: readonly (readonly [name: string, text: string])[] = Object.entries(
  JSON.parse(readFileSync(new URL('./html-entities.json', import.meta.url), 'utf8')) as Record<string, string>,
);

describe('HTML character references', () => {
  test('every name of HTML decodes, with the place it stands for', () => {
    expect(NAMES).toHaveLength(2231);
    const wrong = NAMES.filter(([name, text]) => {
      const [found, ...more] = decodeEntities(`x &${name} y`);
      return found?.text !== text || found.start !== 2 || found.end !== 3 + name.length || more.length > 0;
    });
    expect(wrong).toEqual([]);
  });

  test('a name at the end of the text decodes as well', () => {
    const wrong = NAMES.filter(([name, text]) => decodeEntities(`&${name}`)[0]?.text !== text);
    expect(wrong).toEqual([]);
  });

  test.each([
    ['decimal', '&#105;', 'i'],
    ['hexadecimal', '&#x69;', 'i'],
    ['capital X', '&#X69;', 'i'],
    ['without a semicolon', '&#105', 'i'],
    ['leading zeros', `&#${'0'.repeat(1000)}105;`, 'i'],
    ['two units', '&#x1d4f2;', '\u{1d4f2}'],
    ['Windows-1252', '&#150;', '\u2013'],
    ['no character', '&#0;', '\ufffd'],
    ['a surrogate', '&#xd800;', '\ufffd'],
    ['beyond Unicode', '&#x110000;', '\ufffd'],
    ['beyond numbers', `&#${'9'.repeat(400)};`, '\ufffd'],
  ])('number: %s', (_, reference, text) => {
    expect(decodeEntities(`a${reference} b`)).toEqual([
      { start: 1, end: 1 + reference.length, text, transform: 'entities' },
    ]);
  });

  test.each(['R&D', 'a & b', '&', '&&', '&;', '&#', '&#;', '&#x', '&#xg;', '&nosuchname;', 'a&b=c', '&Amp;'])(
    'no reference: %s',
    (text) => {
      expect(decodeEntities(text)).toEqual([]);
    },
  );
});
