import { classOfKey } from '../../engine/rules/matcher/char-class.js';
import type { PackHead } from '../../engine/rules/pack/rule-schema.js';
import type { PackContent } from '../../engine/rules/pack/stack-packs.js';
import {
  type IndexedPattern,
  type PreparedGroup,
  type PreparedPatterns,
  RULE_GROUPS,
  type RuleGroupName,
} from '../../engine/rules/pattern/compiled-pattern.js';
import { mapPatterns } from '../../engine/rules/pattern/prepare-patterns.js';
import type { IndexedAlternative, LiteralIndex } from '../../engine/rules/prefilter/literal-index.js';
import type { Rule } from '../../engine/rules/types.js';

/**
 * A pack as one binary file, with all that a scan needs: its rules without their examples, patterns parsed, word lists expanded,
 * the automaton of the literals laid out. The first line has the digest of everything after it; the second one, of JSON, says
 * where each section lies. Little-endian, as every machine is that JavaScript runs on. Without Node's own modules:
 * `portcullis/web` reads it too.
 */
const MAGIC = 'portcullis-prepared';
const FORMAT = 7;
/** Sections begin on multiples of this, so that typed arrays can lie in them. */
const ALIGNMENT = 8;

interface Digests {
  /** See `PackContent.digest`. */
  readonly digest: string;
  /** SHA-256 of the file with what this one leaves out. */
  readonly rest: string;
}

interface Header extends Digests {
  readonly format: number;
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

export function writePrepared(
  { head, rules }: PackContent,
  patterns: PreparedPatterns,
  digests: Digests,
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
  const leanRules = rules.map(({ examples: _, ...rule }) => rule);
  add('pack', encodeUtf8(JSON.stringify({ head, rules: leanRules } satisfies LeanPack)));
  for (const group of RULE_GROUPS) {
    const { patterns: known, index, exceptIndex } = patterns[group];
    const inOrder = [...known.values()].flatMap(({ steps, except }) => [...steps.flat(), ...except]);
    const distinct = [...new Set(inOrder)].filter((pattern) => pattern !== undefined);
    const numbers = new Map(distinct.map((pattern, number) => [pattern, number]));
    const order = inOrder.map((pattern) => {
      if (!pattern) throw new Error('only patterns without mistakes can be stored');
      return numbers.get(pattern) as number;
    });
    add(`${group}.order`, toBytes(Int32Array.from(order)));
    add(`${group}.patterns`, encodeUtf8(JSON.stringify(distinct.map(store))));
    addIndex(group, index);
    addIndex(`${group}.except`, exceptIndex);
  }
  const { code, length, classes, ascii } = patterns.programs;
  add('programs', toBytes(code.subarray(0, length)));
  add('classes', encodeUtf8(JSON.stringify(classes.map(({ key }) => key))));
  add('ascii', toBytes(ascii.subarray(0, 128 * classes.length)));
  const sections = concat(parts);
  const header: Header = { format: FORMAT, ...digests, table };
  const content = concat([padToAlignment(`${JSON.stringify(header)}\n`), sections]);
  return concat([padToAlignment(`${MAGIC} ${sha256(content)}\n`), content]);
}

interface LeanPack {
  readonly head: PackHead;
  readonly rules: readonly Omit<Rule, 'examples'>[];
}

export interface PreparedFile extends LeanPack {
  readonly patterns: PreparedPatterns;
  readonly digests: Digests;
}

/** Reads what `writePrepared` wrote; undefined when it is of another format, or damaged. Without `sha256` nothing looks for damage. */
export function readPrepared(file: Uint8Array, sha256?: Sha256): PreparedFile | undefined {
  const [title, content] = splitLine(file);
  const [magic, digest] = title.split(' ');
  if (magic !== MAGIC || (sha256 && sha256(content) !== digest)) return undefined;
  const [line, sections] = splitLine(content);
  const header = JSON.parse(line) as Header;
  if (header.format !== FORMAT) return undefined;
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
  const { head, rules } = JSON.parse(utf8.decode(bytes('pack'))) as LeanPack;
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
    const order = ints(`${group}.order`).values();
    return {
      patterns: mapPatterns(rules as readonly Rule[], group, () => distinct[order.next().value as number]),
      index: readIndex(group),
      exceptIndex: readIndex(`${group}.except`),
    };
  };
  const [at, length] = section('programs');
  const code = new Uint16Array(buffer, byteOffset + at, length / Uint16Array.BYTES_PER_ELEMENT);
  const classes = (JSON.parse(utf8.decode(bytes('classes'))) as readonly string[]).map(classOfKey);
  const programs = { code, length: code.length, classes, ascii: bytes('ascii') };
  return { head, rules, patterns: { raw: readGroup('raw'), folded: readGroup('folded'), programs }, digests: header };
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

/** The first line, and what stands behind its padding. */
function splitLine(bytes: Uint8Array): readonly [string, Uint8Array] {
  const end = Math.max(0, bytes.indexOf(10));
  return [utf8.decode(bytes.subarray(0, end)), bytes.subarray(Math.ceil((end + 1) / ALIGNMENT) * ALIGNMENT)];
}
