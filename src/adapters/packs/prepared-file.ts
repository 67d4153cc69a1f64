import { createHash } from 'node:crypto';
import type { IndexedPattern, PreparedForm, PreparedPatterns } from '../../engine/rules/pattern/compiled-pattern.js';
import type { PatternForm } from '../../engine/rules/pattern/prepare-pattern.js';
import { listDistinctSources } from '../../engine/rules/pattern/prepare-patterns.js';
import type { IndexedAlternative } from '../../engine/rules/prefilter/literal-index.js';
import type { Rule } from '../../engine/rules/types.js';

/**
 * The prepared patterns of a pack as one binary file beside it: patterns parsed, word lists expanded, the automaton of the
 * literals laid out. A header of JSON says where each section lies; little-endian, as every machine is that Node runs on.
 */
const MAGIC = 'portcullis-prepared\n';
const FORMAT = 1;
/** Sections begin on multiples of this, so that typed arrays can lie in them. */
const ALIGNMENT = 8;
const FORMS = ['raw', 'folded'] as const;

interface Header {
  readonly format: number;
  /** SHA-256 of the pack that the patterns were prepared from, and of the sections. */
  readonly pack: string;
  readonly sections: string;
  /** See `PackContent.digest`. */
  readonly digest: string;
  /** Offset and length in bytes, by name. */
  readonly table: Readonly<Record<string, readonly [number, number]>>;
}

/** A pattern without its source: longest match (null: no bound), scripts, frequency, relaxed source, screen, alternatives. */
type StoredPattern = readonly [
  number | null,
  number,
  number,
  string | null,
  string | null,
  readonly (readonly number[])[],
];

/** Writes the prepared patterns of a pack. `pack` is the text of its bundle. */
export function writePrepared(
  prepared: PreparedPatterns,
  rules: readonly Rule[],
  pack: string,
  digest: string,
): Buffer {
  const parts: Buffer[] = [];
  const table: Record<string, readonly [number, number]> = {};
  let size = 0;
  const add = (name: string, bytes: Buffer): void => {
    table[name] = [size, bytes.length];
    const padding = Buffer.alloc((ALIGNMENT - (bytes.length % ALIGNMENT)) % ALIGNMENT);
    parts.push(bytes, padding);
    size += bytes.length + padding.length;
  };
  for (const form of FORMS) {
    const { patterns, index } = prepared[form];
    const distinct = [...new Set(patterns.values())];
    const numbers = new Map(distinct.map((pattern, number) => [pattern, number]));
    const sources = distinct.map(({ source }) => Buffer.from(source));
    const ends = sources.map(({ length }) => length);
    ends.forEach((length, at) => {
      ends[at] = length + (ends[at - 1] ?? 0);
    });
    const bySource = listDistinctSources(rules, form).map((source) => {
      const pattern = patterns.get(source);
      if (!pattern) throw new Error('only patterns without mistakes can be stored');
      return numbers.get(pattern) as number;
    });
    add(`${form}.bySource`, bytesOf(Int32Array.from(bySource)));
    add(`${form}.patterns`, Buffer.from(JSON.stringify(distinct.map(store))));
    add(`${form}.ends`, bytesOf(Int32Array.from(ends)));
    add(`${form}.sources`, Buffer.concat(sources));
    add(`${form}.table`, bytesOf(index.automaton.table));
    add(`${form}.cells`, bytesOf(index.automaton.cells));
    add(`${form}.symbols`, bytesOf(index.automaton.symbols));
    add(`${form}.suffixes`, bytesOf(index.automaton.suffixes));
    add(`${form}.first`, bytesOf(index.setsByLiteral.first));
    add(`${form}.items`, bytesOf(index.setsByLiteral.items));
    add(`${form}.sets`, bytesOf(Int32Array.of(index.sets)));
  }
  const sections = Buffer.concat(parts);
  const header: Header = { format: FORMAT, pack: sha256(pack), sections: sha256(sections), digest, table };
  const head = Buffer.from(`${MAGIC}${JSON.stringify(header)}\n`);
  const padded = Buffer.alloc(Math.ceil(head.length / ALIGNMENT) * ALIGNMENT, ' ');
  head.copy(padded);
  return Buffer.concat([padded, sections]);
}

export interface PreparedFile {
  readonly prepared: PreparedPatterns;
  /** See `PackContent.digest`. */
  readonly digest: string;
}

/** Reads what `writePrepared` wrote; undefined when it is damaged, of another format or from another pack. */
export function readPrepared(file: Buffer, rules: readonly Rule[], pack: Buffer): PreparedFile | undefined {
  const end = file.indexOf(10, MAGIC.length);
  if (file.toString('latin1', 0, MAGIC.length) !== MAGIC || end < 0) return undefined;
  const header = JSON.parse(file.toString('utf8', MAGIC.length, end)) as Header;
  const sections = file.subarray(Math.ceil((end + 1) / ALIGNMENT) * ALIGNMENT);
  if (header.format !== FORMAT || header.pack !== sha256(pack) || header.sections !== sha256(sections))
    return undefined;
  // Typed arrays need their alignment, which a Buffer out of Node's pool may lack.
  const isAligned = sections.byteOffset % ALIGNMENT === 0;
  const { buffer, byteOffset } = isAligned ? sections : Buffer.from(new Uint8Array(sections).buffer);
  const section = (name: string): readonly [number, number] => header.table[name] as readonly [number, number];
  const ints = (name: string): Int32Array => {
    const [at, length] = section(name);
    return new Int32Array(buffer, byteOffset + at, length / Int32Array.BYTES_PER_ELEMENT);
  };
  const bytes = (name: string): Buffer => {
    const [at, length] = section(name);
    return Buffer.from(buffer, byteOffset + at, length);
  };
  const readForm = (form: PatternForm): PreparedForm => {
    const ends = ints(`${form}.ends`);
    const sources = bytes(`${form}.sources`);
    const stored = JSON.parse(bytes(`${form}.patterns`).toString()) as readonly StoredPattern[];
    const distinct = stored.map((one, at) =>
      restore(one, sources, at === 0 ? 0 : (ends[at - 1] as number), ends[at] as number),
    );
    const bySource = ints(`${form}.bySource`);
    const patterns = listDistinctSources(rules, form).map((source, at): [string, IndexedPattern] => [
      source,
      distinct[bySource[at] as number] as IndexedPattern,
    ]);
    return {
      patterns: new Map(patterns),
      index: {
        automaton: {
          table: ints(`${form}.table`),
          cells: ints(`${form}.cells`),
          symbols: new Uint8Array(
            bytes(`${form}.symbols`).buffer,
            byteOffset + section(`${form}.symbols`)[0],
            section(`${form}.symbols`)[1],
          ),
          suffixes: ints(`${form}.suffixes`),
        },
        setsByLiteral: { first: ints(`${form}.first`), items: ints(`${form}.items`) },
        sets: ints(`${form}.sets`)[0] as number,
      },
    };
  };
  return { prepared: { raw: readForm('raw'), folded: readForm('folded') }, digest: header.digest };
}

function store({ longest, scripts, frequency, relaxed, screen, alternatives }: IndexedPattern): StoredPattern {
  return [
    Number.isFinite(longest) ? longest : null,
    scripts,
    frequency,
    relaxed ?? null,
    screen ?? null,
    alternatives.map(({ trigger, before, after, nearby }) => [
      trigger,
      before,
      after,
      ...nearby.flatMap(({ set, least, most }) => [set, least, most]),
    ]),
  ];
}

/** The source is decoded when it is first asked for: most patterns never are. */
function restore(stored: StoredPattern, sources: Buffer, from: number, to: number): IndexedPattern {
  const [longest, scripts, frequency, relaxed, screen, alternatives] = stored;
  return {
    get source() {
      return sources.toString('utf8', from, to);
    },
    relaxed: relaxed ?? undefined,
    screen: screen ?? undefined,
    longest: longest ?? Number.POSITIVE_INFINITY,
    scripts,
    frequency,
    alternatives: alternatives.map(restoreAlternative),
  };
}

function restoreAlternative([trigger = 0, before = 0, after = 0, ...rest]: readonly number[]): IndexedAlternative {
  const nearby = [];
  for (let at = 0; at < rest.length; at += 3) {
    nearby.push({ set: rest[at] as number, least: rest[at + 1] as number, most: rest[at + 2] as number });
  }
  return { trigger, before, after, nearby };
}

function bytesOf(array: Int32Array | Uint8Array): Buffer {
  return Buffer.from(array.buffer, array.byteOffset, array.byteLength);
}

function sha256(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
