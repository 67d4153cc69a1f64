import { readCharClass } from '../../engine/rules/matcher/char-class.js';
import { readPrograms } from '../../engine/rules/matcher/programs.js';
import {
  type IndexedPattern,
  type PreparedGroup,
  type PreparedPatterns,
  RULE_GROUPS,
  type RuleGroupName,
} from '../../engine/rules/pattern/compiled-pattern.js';
import { listPatternKeys } from '../../engine/rules/pattern/prepare-patterns.js';
import type { IndexedAlternative, LiteralIndex } from '../../engine/rules/prefilter/literal-index.js';
import type { Rule } from '../../engine/rules/types.js';

/**
 * The prepared patterns of a pack as one binary file next to it: patterns parsed, word lists expanded, the automaton of the
 * literals laid out. A header of JSON says where each section lies; little-endian, as every machine is that JavaScript runs on.
 * Without Node's own modules: `portcullis/web` reads it too.
 */
const MAGIC = 'portcullis-prepared\n';
const FORMAT = 6;
/** Sections begin on multiples of this, so that typed arrays can lie in them. */
const ALIGNMENT = 8;

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

/** A pattern: address of its program, longest match (null: no bound), scripts, frequency, alternatives. */
type StoredPattern = readonly [number, number | null, number, number, readonly (readonly number[])[]];

/** SHA-256 of bytes as 64 small hex digits. */
export type Sha256 = (bytes: Uint8Array) => string;

const encodeUtf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
/** A byte order mark is a character of its pattern. */
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** Writes the prepared patterns of a pack. `pack` is the text of its bundle. */
export function writePrepared(
  prepared: PreparedPatterns,
  rules: readonly Rule[],
  pack: string,
  digest: string,
  sha256: Sha256,
): Uint8Array {
  const parts: Uint8Array[] = [];
  const table: Record<string, readonly [number, number]> = {};
  let size = 0;
  const add = (name: string, bytes: Uint8Array): void => {
    table[name] = [size, bytes.length];
    const padding = new Uint8Array((ALIGNMENT - (bytes.length % ALIGNMENT)) % ALIGNMENT);
    parts.push(bytes, padding);
    size += bytes.length + padding.length;
  };
  const addIndex = (name: string, { automaton, setsByLiteral, sets }: LiteralIndex): void => {
    add(`${name}.table`, toBytes(automaton.table));
    add(`${name}.cells`, toBytes(automaton.cells));
    add(`${name}.symbols`, toBytes(automaton.symbols));
    add(`${name}.suffixes`, toBytes(automaton.suffixes));
    add(`${name}.first`, toBytes(setsByLiteral.first));
    add(`${name}.items`, toBytes(setsByLiteral.items));
    add(`${name}.sets`, toBytes(Int32Array.of(sets)));
  };
  for (const group of RULE_GROUPS) {
    const { patterns, index, exceptIndex } = prepared[group];
    const distinct = [...new Set(patterns.values())];
    const numbers = new Map(distinct.map((pattern, number) => [pattern, number]));
    const byKey = listPatternKeys(rules, group).map((key) => {
      const pattern = patterns.get(key);
      if (!pattern) throw new Error('only patterns without mistakes can be stored');
      return numbers.get(pattern) as number;
    });
    add(`${group}.byKey`, toBytes(Int32Array.from(byKey)));
    add(`${group}.patterns`, encodeUtf8(JSON.stringify(distinct.map(store))));
    addIndex(group, index);
    addIndex(`${group}.except`, exceptIndex);
  }
  const { programs } = prepared;
  add('programs', toBytes(programs.code.subarray(0, programs.length)));
  add('classes', encodeUtf8(JSON.stringify(programs.classes.map(({ key }) => key))));
  const sections = concat(parts);
  const header: Header = { format: FORMAT, pack: sha256(encodeUtf8(pack)), sections: sha256(sections), digest, table };
  return concat([padToAlignment(`${MAGIC}${JSON.stringify(header)}\n`), sections]);
}

export interface PreparedFile {
  readonly prepared: PreparedPatterns;
  /** See `PackContent.digest`. */
  readonly digest: string;
}

/** Reads what `writePrepared` wrote; undefined when it is of another format, or `isIntact` rejects its digests. */
export function readPrepared(
  file: Uint8Array,
  rules: readonly Rule[],
  isIntact: (digests: Pick<Header, 'pack' | 'sections'>, sections: Uint8Array) => boolean,
): PreparedFile | undefined {
  const end = file.indexOf(10, MAGIC.length);
  if (end < 0 || utf8.decode(file.subarray(0, MAGIC.length)) !== MAGIC) return undefined;
  const header = JSON.parse(utf8.decode(file.subarray(MAGIC.length, end))) as Header;
  const sections = file.subarray(Math.ceil((end + 1) / ALIGNMENT) * ALIGNMENT);
  if (header.format !== FORMAT || !isIntact(header, sections)) return undefined;
  // Typed arrays need their alignment, which a part of a larger buffer may lack.
  const { buffer, byteOffset } = sections.byteOffset % ALIGNMENT === 0 ? sections : sections.slice();
  const section = (name: string): readonly [number, number] => header.table[name] as readonly [number, number];
  const ints = (name: string): Int32Array => {
    const [at, length] = section(name);
    return new Int32Array(buffer, byteOffset + at, length / Int32Array.BYTES_PER_ELEMENT);
  };
  const bytes = (name: string): Uint8Array => {
    const [at, length] = section(name);
    return new Uint8Array(buffer, byteOffset + at, length);
  };
  const readIndex = (name: string): LiteralIndex => ({
    automaton: {
      table: ints(`${name}.table`),
      cells: ints(`${name}.cells`),
      symbols: bytes(`${name}.symbols`),
      suffixes: ints(`${name}.suffixes`),
    },
    setsByLiteral: { first: ints(`${name}.first`), items: ints(`${name}.items`) },
    sets: ints(`${name}.sets`)[0] as number,
  });
  const readGroup = (group: RuleGroupName): PreparedGroup => {
    const stored = JSON.parse(utf8.decode(bytes(`${group}.patterns`))) as readonly StoredPattern[];
    const distinct = stored.map(restore);
    const byKey = ints(`${group}.byKey`);
    const patterns = listPatternKeys(rules, group).map((key, at): [string, IndexedPattern] => [
      key,
      distinct[byKey[at] as number] as IndexedPattern,
    ]);
    return {
      patterns: new Map(patterns),
      index: readIndex(group),
      exceptIndex: readIndex(`${group}.except`),
    };
  };
  const [at, length] = section('programs');
  const code = new Uint16Array(buffer, byteOffset + at, length / Uint16Array.BYTES_PER_ELEMENT);
  const classes = (JSON.parse(utf8.decode(bytes('classes'))) as readonly string[]).map(readCharClass);
  const programs = readPrograms(code, classes);
  return { prepared: { raw: readGroup('raw'), folded: readGroup('folded'), programs }, digest: header.digest };
}

function store({ program, longest, scripts, frequency, alternatives }: IndexedPattern): StoredPattern {
  return [
    program(),
    Number.isFinite(longest) ? longest : null,
    scripts,
    frequency,
    alternatives.map(({ trigger, before, after, nearby }) => [
      trigger,
      before,
      after,
      ...nearby.flatMap(({ set, before, minOffset, maxOffset }) => [set, before, minOffset, maxOffset]),
    ]),
  ];
}

function restore([address, longest, scripts, frequency, alternatives]: StoredPattern): IndexedPattern {
  return {
    program: () => address,
    longest: longest ?? Number.POSITIVE_INFINITY,
    scripts,
    frequency,
    alternatives: alternatives.map(restoreAlternative),
  };
}

function restoreAlternative([trigger = 0, before = 0, after = 0, ...rest]: readonly number[]): IndexedAlternative {
  const nearby = [];
  for (let at = 0; at < rest.length; at += 4) {
    const [set = 0, before = 0, minOffset = 0, maxOffset = 0] = rest.slice(at, at + 4);
    nearby.push({ set, before, minOffset, maxOffset });
  }
  return { trigger, before, after, nearby };
}

function toBytes(array: Int32Array | Uint16Array | Uint8Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** A text in UTF-8 with spaces up to the next multiple of `ALIGNMENT`. */
function padToAlignment(text: string): Uint8Array {
  const bytes = encodeUtf8(text);
  const padded = new Uint8Array(Math.ceil(bytes.length / ALIGNMENT) * ALIGNMENT).fill(0x20);
  padded.set(bytes);
  return padded;
}

/** A pack without its rules' examples and its word lists, and its prepared patterns, in one: what `portcullis/web` loads. */
export function joinPack(pack: string, prepared: Uint8Array): Uint8Array {
  return concat([padToAlignment(`${pack}\n`), prepared]);
}

/** The two parts of what `joinPack` made; undefined for anything else. */
export function splitPack(file: Uint8Array): { readonly pack: string; readonly prepared: Uint8Array } | undefined {
  const end = file.indexOf(10);
  if (end < 0) return undefined;
  return {
    pack: utf8.decode(file.subarray(0, end)),
    prepared: file.subarray(Math.ceil((end + 1) / ALIGNMENT) * ALIGNMENT),
  };
}
