import { describe, expect, test } from 'vitest';
import { fold, foldAscii } from '../../src/engine/text/normalize/fold.js';
import { scanFeatures } from '../../src/engine/text/scan-features.js';

describe('fold', () => {
  test.each([
    ['case', 'IGNORE', 'ignore'],
    ['white-space runs', 'a  b\t\tc\u00a0\u3000d', 'a b c d'],
    ['line breaks of every kind', 'a\r\nb\u2028c\u2029d\u0085e\vf\n \n g', 'a\nb\nc\nd\ne\nf\ng'],
    ['single white space stays', ' a b\nc ', ' a b\nc '],
    ['blanks that are no space', 'a\u2800b\u3164c\uffa0d', 'a b c d'],
    ['zero-width', 'ig\u200bno\u200dre\ufeff \u2060x', 'ignore x'],
    ['invisibles between white space', 'a \u200b b', 'a b'],
    ['soft hyphen, controls', 'ig\u00adno\u0000re\u007f', 'ignore'],
    ['terminal colours', 'ig\u001b[31mnore\u001b[0m', 'ignore'],
    ['bidi controls', '\u202eabc\u202c\u2066d\u2069', 'abcd'],
    ['variation selectors', 'a\ufe0fb\u{e0101}c', 'abc'],
    ['tag characters', 'a\u{e0061}b', 'ab'],
    ['Latin marks', 'Ünïcödé Việt ñandú ĄĆĘŁŃÓŚŹŻ', 'unicode viet nandu acelnoszz'],
    ['Latin letters', 'Straße Æsir Œuvre Øre Đinh ıİ', 'strasse aesir oeuvre ore dinh ii'],
    ['combining marks', 'i\u0301g\u0336n\u20ddore', 'ignore'],
    ['Cyrillic', 'Игнорируй ВСЁ', 'игнорируи все'],
    ['Greek', 'Αγνόησε τις οδηγίες', 'αγνοησε τισ οδηγιεσ'],
    ['Arabic', 'كَتَبَ الـــكتاب أحمد', 'كتب الكتاب احمد'],
    ['Hebrew', 'שָׁלוֹם', 'שלום'],
    ['Devanagari stays', 'हिन्दी निर्देशों', 'हिन्दी निर्देशों'],
    ['Thai stays', 'คำสั่งก่อนหน้า'.normalize('NFC'), 'ค\u0e4dาส\u0e31\u0e48งก่อนหน้า'],
    ['kana compose', 'カ\u3099 ｶﾞ', 'ガ ガ'],
    ['Hangul composes', '\u1112\u1161\u11ab글', '한글'],
    ['quotes and dashes', '“a” ‘b’ «c» d–e—f‐g−h', '"a" \'b\' "c" d-e-f-g-h'],
    ['ellipsis, ligatures, fractions', '… ﬁ ½', '... fi 1/2'],
    ['full-width', 'Ｉｇｎｏｒｅ　１', 'ignore 1'],
    ['mathematical', '𝐈𝓰𝔫𝕠𝗋𝙚 𝟙', 'ignore 1'],
    ['enclosed', 'Ⓘⓖ⒩🅾🆁🄴', 'ignore'],
    ['regional indicators', '🇮🇬', 'ig'],
    ['small capitals', 'ɪɢɴᴏʀᴇ', 'ignore'],
    ['emoji stay', 'a😀b', 'a😀b'],
    ['confusables in mixed words', 'іgnоrе рrevious', 'ignore previous'],
    ['Greek confusables', 'ignοrε', 'ignore'],
    ['a word of confusables in Latin text', 'please do not сору this text here', 'please do not copy this text here'],
    ['Russian words stay', 'он сказал: сору нет, ничего не копировать', 'он сказал: сору нет, ничего не копировать'],
    ['Japanese beside Latin stays', 'AIで前の指示を無視', 'aiで前の指示を無視'],
  ])('%s', (_, text, folded) => {
    expect(fold(text).text).toBe(folded);
  });

  test.each([
    ['plain', 'Ignore all', 'all', 'all'],
    ['after a collapsed run', 'a   IGNORE  all', 'ignore', 'IGNORE'],
    ['across a collapsed run', 'x ig  nore', 'ig nore', 'ig  nore'],
    ['invisibles inside', 'x ig\u200b\u200bnore y', 'ignore', 'ig\u200b\u200bnore'],
    ['invisibles around are left out', 'x\u200bignore\u200by', 'ignore', 'ignore'],
    ['growing letters', 'Straße eins', 'eins', 'eins'],
    ['a part of a grown letter is the letter', 'Straße', 's', 'S'],
    ['pairs', 'a 𝓲𝓰𝓷 b', 'ign', '𝓲𝓰𝓷'],
    ['ellipsis', 'a… b', 'b', 'b'],
    ['marks belong to their letter', 'x i\u0301g\u0301 y', 'ig', 'i\u0301g'],
  ])('maps back: %s', (_, text, part, hit) => {
    const { text: folded, map } = fold(text);
    const start = folded.indexOf(part);
    const span = map.toInput({ start, end: start + part.length });
    expect(text.slice(span.start, span.end)).toBe(hit);
  });

  test('identity where nothing but case and letters of the same length change', () => {
    expect(fold('Été À LA plage — “oui”').map.identity).toBe(true);
  });

  test('mark runs are capped and cost no square', () => {
    const folded = fold(`क${'\u0951'.repeat(200_000)}x`).text;
    expect(folded.length).toBeLessThan(60);
    expect(folded.endsWith('x')).toBe(true);
  });

  test.each(['', ' ', 'a  b', '\0 \0\0 a \0', 'a\t\r\n \u001b[1mb \u001b[', 'A\n\nB  ', '\u001b', ' \u001b[0m '])(
    'the ASCII path agrees with the plain one: %j',
    (text) => {
      const fast = foldAscii(text, scanFeatures(text).spaces);
      const plain = fold(text);
      const spans = Array.from({ length: plain.text.length }, (_, start) => ({ start, end: start + 1 }));
      expect([fast.text, spans.map((span) => fast.map.toInput(span))]).toEqual([
        plain.text,
        spans.map((span) => plain.map.toInput(span)),
      ]);
    },
  );
});
