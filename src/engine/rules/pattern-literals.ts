import { COMMON_WORDS } from './common-words.js';
import type { PatternNode } from './pattern-node.js';

/** Texts of which every match holds at least one. Folded, in lower case, `EDGE` for a word's edge. */
export type Clause = readonly string[];

/** Stands for `\b` until its neighbours are known: a code point that is no character. */
const EDGE = '\uffff';
/** Characters kept of a text: more would add states to the automaton and hardly any sharpness. */
const MAX_LENGTH = 9;
/** Clauses kept of a pattern. */
const MAX_CLAUSES = 4;

/** What a part of a pattern must hold: `exact` when it matches nothing but these texts, else one text of each clause. */
interface Needs {
  readonly exact: readonly string[] | undefined;
  readonly clauses: readonly Clause[];
}

/** The texts that a part may be spelled out to. */
const MAX_EXACT = 300;
/** The texts that two parts with several texts each may be joined to. */
const MAX_JOINED = 32;

const ANYTHING: Needs = { exact: undefined, clauses: [] };
const exactly = (...exact: readonly string[]): Needs => ({ exact, clauses: [] });

/**
 * Every match of the pattern holds at least one text of each of these clauses, and meets them in their order. The rarest
 * ones; empty when nothing is sure.
 */
export function patternLiterals(node: PatternNode, isRaw: boolean): readonly Clause[] {
  const needs = createReader(isRaw)(node, '', '');
  const clauses = (needs.exact ? [needs.exact] : needs.clauses).map((clause) =>
    shortest(shortest(clause).map((text) => [...text].slice(0, MAX_LENGTH).join(''))),
  );
  const weights = clauses.map(clauseWeight);
  const limit = [...weights].sort((a, b) => a - b)[MAX_CLAUSES] ?? USELESS;
  return clauses.filter((_, at) => (weights[at] as number) < Math.min(limit, USELESS));
}

/** Reads a node that stands between two edges (`EDGE` or nothing), so that each of its options gets them. */
type Reader = (node: PatternNode, left: string, right: string) => Needs;

function createReader(isRaw: boolean): Reader {
  const read: Reader = (node, left, right) => {
    const only = (...exact: readonly string[]): Needs => exactly(...exact.map((text) => left + text + right));
    switch (node.kind) {
      case 'empty':
        return only('');
      case 'space':
        return only(' ');
      case 'edge':
        return node.source === '\\b' ? only(EDGE) : only('');
      case 'char':
        // A raw pattern may ignore case, and then other letters than this one match.
        return (isRaw && node.text > '\x7f') || node.text === EDGE ? ANYTHING : only(node.text.toLowerCase());
      case 'class': {
        const members = classMembers(node, isRaw);
        return members ? only(...members) : ANYTHING;
      }
      case 'sequence':
        return readSequence(node.parts, left, right, read);
      case 'choice':
        return choose(node.options.map((option) => read(option, left, right)));
      case 'group':
        return node.of ? read(node.of, left, right) : only('');
      case 'words':
        return read(node.of, left, right);
      case 'repeat': {
        if (node.min === 1 && node.max === 1) return read(node.of, left, right);
        const of = read(node.of, '', '');
        if (node.min === 0) return node.max === 1 && of.exact ? only('', ...of.exact) : ANYTHING;
        return { exact: undefined, clauses: of.exact ? [of.exact] : of.clauses };
      }
      default:
        return ANYTHING;
    }
  };
  return read;
}

const isEdge = (node: PatternNode | undefined): boolean => node?.kind === 'edge' && node.source === '\\b';

/** Edges go into the parts beside them: `\b(?:a|b)` is `\ba|\bb`, and so it is after a space. */
function readSequence(parts: readonly PatternNode[], left: string, right: string, read: Reader): Needs {
  const inner = parts.filter((part) => !isEdge(part));
  if (inner.length === 0) return exactly(left + EDGE + right);
  const needs: Needs[] = [];
  parts.forEach((part, at) => {
    if (isEdge(part)) return;
    const before = at === 0 ? left : hasEdge(parts.slice(0, at).reverse(), 'last') ? EDGE : '';
    const after = at === parts.length - 1 ? right : hasEdge(parts.slice(at + 1), 'first') ? EDGE : '';
    needs.push(read(part, before, after));
  });
  return join(needs);
}

/** True when the parts beside a place, the nearest first, always have an edge or a space there. */
function hasEdge(nearest: readonly PatternNode[], side: 'first' | 'last'): boolean {
  for (const part of nearest) {
    if (isEdge(part) || isSpaceAt(part, side)) return true;
    if (part.kind !== 'repeat' || part.min > 0 || !isSpaceAt(part.of, side)) return false;
  }
  return false;
}

function isSpaceAt(node: PatternNode, side: 'first' | 'last'): boolean {
  switch (node.kind) {
    case 'space':
      return true;
    case 'choice':
      return node.options.every((option) => isSpaceAt(option, side));
    case 'group':
      return node.of !== undefined && isSpaceAt(node.of, side);
    case 'words':
      return isSpaceAt(node.of, side);
    case 'repeat':
      return node.min > 0 && isSpaceAt(node.of, side);
    case 'sequence':
      return hasEdge(side === 'first' ? node.parts : [...node.parts].reverse(), side);
    default:
      return false;
  }
}

function classMembers(node: PatternNode & { readonly kind: 'class' }, isRaw: boolean): readonly string[] | undefined {
  if (node.negated) return undefined;
  const members = new Set<string>();
  for (const item of node.items) {
    if ('escape' in item || item.high - item.low > 3 || (isRaw && item.high > 0x7f)) return undefined;
    for (let point = item.low; point <= item.high; point++) members.add(String.fromCodePoint(point).toLowerCase());
  }
  return members.size <= 8 ? [...members] : undefined;
}

function choose(options: readonly Needs[]): Needs {
  const exact = options.every((option) => option.exact) ? options.flatMap((option) => option.exact ?? []) : undefined;
  if (exact && exact.length <= MAX_EXACT) return exactly(...new Set(exact));
  const clauses = options.map((option) => best(option.exact ? [option.exact] : option.clauses));
  if (clauses.some((clause) => clause === undefined)) return ANYTHING;
  return { exact: undefined, clauses: [[...new Set(clauses.flatMap((clause) => clause ?? []))]] };
}

function join(parts: readonly Needs[]): Needs {
  const clauses: Clause[] = [];
  let run: readonly string[] = [''];
  let isExact = true;
  for (const part of parts) {
    const exact = part.exact;
    if (exact && run.length * exact.length <= Math.max(run.length, exact.length, MAX_JOINED)) {
      run = run.flatMap((left) => exact.map((right) => left + right));
    } else {
      isExact = false;
      clauses.push(run, ...part.clauses);
      run = exact ?? [''];
    }
  }
  if (isExact && run.length <= MAX_EXACT) return exactly(...run);
  return {
    exact: undefined,
    clauses: [...clauses, run].map(shortest).filter((clause) => clauseWeight(clause) < USELESS),
  };
}

function best(clauses: readonly Clause[]): Clause | undefined {
  const [first] = clauses.map(shortest).sort((a, b) => clauseWeight(a) - clauseWeight(b));
  return first && clauseWeight(first) < USELESS ? first : undefined;
}

/** Leaves out each text that holds another one of the clause: the other is there whenever it is. */
function shortest(clause: Clause): Clause {
  const kept: string[] = [];
  for (const text of [...new Set(clause.map(settleEdges))].sort((a, b) => a.length - b.length)) {
    if (!kept.some((short) => text.includes(short))) kept.push(text);
  }
  return kept;
}

/**
 * How common a clause is likely to be: the sum over its texts, each letter halving it. Fewer than two letters, digits or
 * telling marks in one of its texts make it useless.
 */
export function clauseWeight(clause: Clause): number {
  let sum = 0;
  for (const text of clause) {
    const words = text.replace(NOISE, ' ').trim();
    const size = /[^\0-\x7f]/.test(words) ? 2 * words.length : words.length;
    if (size < 2) return USELESS;
    // Texts in other scripts, and so their words, are rarer than those in this one.
    if (/[^\0-\x7f]/.test(words)) {
      sum += 0.1 * 0.5 ** size;
      continue;
    }
    // An ending is seen far more often than a word that begins with the same letters.
    const ending = text.startsWith(words) ? 2 : 1;
    sum += COMMON_WORDS.has(words) ? 1 : ending * 0.5 ** size;
  }
  return sum;
}

/** The weight of a clause that nearly every text holds. */
const USELESS = 1000;

/** What the alphabet of `symbols.ts` takes for space, and the marks that every text is full of. */
const NOISE = /[\p{Cc} "#'*\-_`|~>.,]+/gu;

/** Settles word edges: an edge beside an ASCII letter or digit is a space in the alphabet of `symbols.ts`. */
function settleEdges(literal: string): string {
  return literal
    .replace(/(.?)\uffff+(?=(.?))/gsu, (_, left: string, right: string) =>
      isWord(left) === isWord(right) ? left : `${left} `,
    )
    .replace(/ {2,}/g, ' ');
}

const isWord = (letter: string): boolean => /^[a-z0-9]$/.test(letter);
