import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { csvSlices, parseCsvRows } from '../../src/batch/formats/csv.js';
import { jsonSlices, splitLines } from '../../src/batch/formats/json-lines.js';
import type { JsonLine, PlacedSlice, SliceBounds } from '../../src/batch/record-slices.js';

type Slices = (chunks: AsyncIterable<Buffer>, bounds: SliceBounds) => AsyncGenerator<PlacedSlice>;

const wide = { sliceBytes: 64, recordBytes: 10_000, fromLine: 1 };

/** A text as chunks that end at `cuts`. */
async function* cutAt(text: string | Buffer, cuts: readonly number[]): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  let from = 0;
  for (const cut of [...cuts, bytes.length]) {
    if (from >= bytes.length) return;
    yield bytes.subarray(from, from + cut);
    from += cut;
  }
}

const slicesOf = async (
  slices: Slices,
  text: string | Buffer,
  bounds: SliceBounds = wide,
  cuts: readonly number[] = [],
): Promise<readonly PlacedSlice[]> => {
  const found: PlacedSlice[] = [];
  for await (const slice of slices(cutAt(text, cuts), bounds)) found.push(slice);
  return found;
};

const rowsOf = ({ slice }: PlacedSlice): readonly JsonLine[] => {
  // As another process gets it.
  const there = structuredClone(slice);
  if (there.kind === 'rows') return there.rows;
  return there.kind === 'csv' ? [...parseCsvRows(there)] : [...splitLines(Buffer.from(there.bytes), there.line)];
};
const rows = (slices: readonly PlacedSlice[]): readonly JsonLine[] => slices.flatMap(rowsOf);

const field = fc.string({ unit: fc.constantFrom('a', 'é', ' ', '"', ',', '\n', '\r'), maxLength: 6 });
const quoted = field.map((text) => `"${text.replaceAll('"', '""')}"`);
const plain = fc.string({ unit: fc.constantFrom('a', 'é', ' ', '"'), maxLength: 6 }).map((text) => `b${text}`);
/** Not closed where the field ends: the parser takes the quotes as they are. */
const untidy = fc.tuple(quoted, plain).map((parts) => parts.join(''));
const record = fc
  .array(fc.oneof(quoted, plain, untidy), { minLength: 1, maxLength: 3 })
  .map((fields) => fields.join(','));
const cuts = fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 40 });

describe('slices of CSV', () => {
  test.each(['\n', '\r\n', '\r'])(
    'line end %j: the records of csv-parse, wherever bytes and slices are cut',
    async (end) => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(record, { maxLength: 12 }),
          cuts,
          fc.integer({ min: 1, max: 80 }),
          async (records, at, sliceBytes) => {
            const text = ['x,y,z', ...records].map((one) => one + end).join('');
            const found = rows(await slicesOf(csvSlices, text, { ...wide, sliceBytes }, at));
            const expected = parse(text, { relax_quotes: true, relax_column_count: true }).slice(1);
            const names = ['x', 'y', 'z'];
            expect(
              found.map(({ content }) => ({ ...('value' in content ? (content.value as object) : content) })),
            ).toEqual(
              expected.map((fields) =>
                Object.fromEntries(fields.slice(0, 3).map((value, column) => [names[column], value])),
              ),
            );
          },
        ),
        { numRuns: 200 },
      );
    },
  );

  test('a row is on the line that it ends on, whatever the slices', async () => {
    const text = 'x,y\r\n1,"a\r\nb"\r\n\r\n2,c\r\n3,"d\n"\r\n';
    for (const sliceBytes of [1, 20, 1_000])
      expect(rows(await slicesOf(csvSlices, text, { ...wide, sliceBytes })).map(({ line }) => line)).toEqual([
        3, 4, 5, 7,
      ]);
  });

  test('invalid UTF-8 spoils its own row only', async () => {
    const bytes = Buffer.concat([Buffer.from('x\né\n'), Buffer.from([0xff, 0x0a]), Buffer.from('ü\n')]);
    expect(rows(await slicesOf(csvSlices, bytes)).map(({ content }) => ({ ...content }))).toEqual([
      { value: { x: 'é' } },
      { error: 'not valid UTF-8' },
      { value: { x: 'ü' } },
    ]);
  });

  test('a quote that is never closed is said', async () => {
    const slices = await slicesOf(csvSlices, 'x\na\n"b\nc');
    expect(() => rows(slices)).toThrow(/CSV_QUOTE_NOT_CLOSED/);
  });
});

describe.each<[string, Slices, string]>([
  ['JSON Lines', jsonSlices, '{"n":1}\n\n{"n":2}\n{"n":"long, long, long, long"}\n \n{"n":4}'],
  ['CSV', csvSlices, 'n\n1\n"2\n2"\n"long, long, long, long"\n\n4'],
])('slices of %s', (_name, slices, text) => {
  const bounds = { ...wide, recordBytes: 20 };

  test('a record that is too long is a row with an error', async () => {
    for (const sliceBytes of [1, 10, 1_000]) {
      const found = rows(await slicesOf(slices, text, { ...bounds, sliceBytes }));
      expect(found.filter(({ content }) => 'error' in content)).toEqual([
        { line: expect.any(Number), content: { error: 'longer than 20 bytes' } },
      ]);
      expect(found.at(-1)).toEqual(rows(await slicesOf(slices, text)).at(-1));
    }
  });

  test('from the line after any slice the rest follows, each row once, wherever it is cut', async () => {
    const all = rows(await slicesOf(slices, text, bounds));
    await fc.assert(
      fc.asyncProperty(
        cuts,
        cuts,
        fc.integer({ min: 1, max: 40 }),
        fc.nat(9),
        async (first, second, sliceBytes, stop) => {
          const begun = (await slicesOf(slices, text, { ...bounds, sliceBytes }, first)).slice(0, stop);
          const fromLine = begun.at(-1)?.nextLine ?? 1;
          const rest = await slicesOf(slices, text, { ...bounds, sliceBytes: 7, fromLine }, second);
          expect([...rows(begun), ...rows(rest)]).toEqual(all);
        },
      ),
      { numRuns: 200 },
    );
  });
});
