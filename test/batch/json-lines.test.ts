import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { jsonLines } from '../../src/batch/formats/json-lines.js';
import type { JsonLine } from '../../src/batch/record-slices.js';

const read = async (chunks: readonly Buffer[], maxBytes = 1_000): Promise<readonly JsonLine[]> => {
  async function* source(): AsyncGenerator<Buffer> {
    for (const chunk of chunks) {
      await new Promise(setImmediate);
      yield chunk;
    }
  }
  const lines: JsonLine[] = [];
  for await (const line of jsonLines(source(), maxBytes)) lines.push(line);
  return lines;
};

describe('jsonLines', () => {
  test.each<[string, string, readonly JsonLine[]]>([
    ['nothing', '', []],
    ['one line without an end', '{"a":1}', [{ line: 1, content: { value: { a: 1 } } }]],
    ['blank lines count and are left out', '\n \n3\n', [{ line: 3, content: { value: 3 } }]],
    ['CRLF', '1\r\n2\r\n', [1, 2].map((value, at) => ({ line: at + 1, content: { value } }))],
    ['a byte order mark', '\ufeff1\n', [{ line: 1, content: { value: 1 } }]],
    ['U+2028 inside a string is no line end', '"a\u2028b"\n', [{ line: 1, content: { value: 'a\u2028b' } }]],
  ])('reads %s', async (_name, text, expected) => {
    expect(await read([Buffer.from(text)])).toEqual(expected);
  });

  test('answers a broken line with its place and goes on', async () => {
    const lines = await read([Buffer.from('{"secret": oops}\n2\n')]);
    expect(lines[0]?.line).toBe(1);
    expect(JSON.stringify(lines[0])).toMatch(/not valid JSON/);
    expect(JSON.stringify(lines[0])).not.toMatch(/secret|oops/);
    expect(lines[1]).toEqual({ line: 2, content: { value: 2 } });
  });

  test('refuses a line over the limit and reads the next', async () => {
    const lines = await read([Buffer.from(`"${'x'.repeat(30)}`), Buffer.from('yyyy"\n7\n')], 20);
    expect(lines).toEqual([
      { line: 1, content: { error: 'longer than 20 bytes' } },
      { line: 2, content: { value: 7 } },
    ]);
  });

  test('gives the same lines wherever the bytes are cut', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.string({ unit: 'binary' })), fc.array(fc.nat(40)), async (texts, cuts) => {
        const bytes = Buffer.from(texts.map((text) => `${JSON.stringify(text)}\n`).join(''));
        const chunks: Buffer[] = [];
        let from = 0;
        for (const cut of [...cuts, bytes.length]) {
          chunks.push(bytes.subarray(from, from + cut));
          from += cut;
        }
        const lines = await read(chunks, 1_000_000);
        const wellFormed = texts.map((text) => JSON.parse(Buffer.from(JSON.stringify(text)).toString()));
        expect(lines.map(({ content }) => ('value' in content ? content.value : content.error))).toEqual(wellFormed);
      }),
    );
  });
});
