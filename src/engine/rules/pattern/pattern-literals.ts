import {
  type ClausePlace,
  type LiteralWay,
  mostBetween,
  type PlacedClause,
  START,
  type WeighedClause,
} from '../prefilter/clause.js';
import { clauseWeight, EDGE, shortestTexts, USELESS } from '../prefilter/clause-weight.js';
import {
  chooseNeeds,
  clausesOf,
  joinNeeds,
  type Needs,
  needExactly,
  needNothing,
  repeatNeeds,
} from '../prefilter/literal-needs.js';
import { spaceRuns } from '../prefilter/symbols.js';
import { countedLength } from './counted-length.js';
import type { PatternNode } from './pattern-node.js';

/** Characters kept of a text: more would add states to the automaton and hardly any sharpness. */
const MAX_LENGTH = 14;
/** Clauses kept of a way. */
const MAX_CLAUSES = 4;
/** Ways with more than one clause that are told apart. */
const MAX_WAYS = 12;

/**
 * The ways in which a pattern can match: every match holds a text of each clause of one of them, and meets them in their
 * order. The rarest clauses of each; empty when nothing is sure.
 */
export function patternLiterals(node: PatternNode, isRaw: boolean): readonly LiteralWay[] {
  const ways = readWays(node, createReader(isRaw), '', '').map((needs) => ({
    clauses: rarestClauses(clausesOf(needs)),
    end: needs.end,
  }));
  if (ways.some(({ clauses }) => clauses.length === 0)) return [];
  const many = ways.filter(({ clauses }) => clauses.length > 1).slice(0, MAX_WAYS);
  const rest = ways.filter((way) => !many.includes(way));
  const [bounded, endless] = [rest.filter(({ end }) => end.stretch === 0), rest.filter(({ end }) => end.stretch > 0)];
  return [...many, ...oneWay(bounded), ...oneWay(endless)];
}

/** Ways as one, by their rarest clauses. */
function oneWay(ways: readonly LiteralWay[]): readonly LiteralWay[] {
  if (ways.length === 0) return [];
  const end = ways.map((way) => way.end).reduce((a, b) => (mostBetween(a, b) > 0 ? b : a));
  const rarest = ways.flatMap(({ clauses }) => [...clauses].sort((a, b) => a.weight - b.weight)[0]?.texts ?? []);
  const texts = shortestTexts(rarest);
  return [{ clauses: [{ texts, weight: clauseWeight(texts), from: START, to: end }], end }];
}

function rarestClauses(clauses: readonly PlacedClause[]): readonly WeighedClause[] {
  const known = new Set<string>();
  const weighed = clauses.flatMap(({ texts, from, to }) => {
    const short = shortestTexts(shortestTexts(texts).map((text) => [...text].slice(0, MAX_LENGTH).join('')));
    const key = short.join('\n');
    if (known.has(key)) return [];
    known.add(key);
    return { texts: short, weight: clauseWeight(short), from, to };
  });
  const limit = weighed.map(({ weight }) => weight).sort((a, b) => a - b)[MAX_CLAUSES] ?? USELESS;
  return weighed.filter(({ weight }) => weight < Math.min(limit, USELESS));
}

function placeOfEnd(node: PatternNode): ClausePlace {
  const counted = countedLength(node);
  return counted === Number.POSITIVE_INFINITY ? { stretch: 1, at: 0 } : { stretch: 0, at: counted };
}

/** Reads a node that stands between two edges (`EDGE` or nothing), so that each of its options gets them. */
type Reader = (node: PatternNode, left: string, right: string) => Needs;

/** The options of a pattern that is a choice, each for itself. */
function readWays(node: PatternNode, read: Reader, left: string, right: string): readonly Needs[] {
  if (node.kind === 'choice') return node.options.flatMap((option) => readWays(option, read, left, right));
  if (node.kind === 'group' && node.of) return readWays(node.of, read, left, right);
  if (node.kind === 'sequence') {
    const at = node.parts.findIndex((part) => !isEdge(part));
    const inner = node.parts[at];
    if (inner && node.parts.every((part) => part === inner || isEdge(part))) {
      return readWays(inner, read, at > 0 ? EDGE : left, at < node.parts.length - 1 ? EDGE : right);
    }
  }
  return [read(node, left, right)];
}

function createReader(isRaw: boolean): Reader {
  const read: Reader = (node, left, right) => {
    const end = placeOfEnd(node);
    const only = (...exact: readonly string[]): Needs =>
      needExactly(
        exact.map((text) => left + text + right),
        end,
      );
    switch (node.kind) {
      case 'empty':
        return only('');
      case 'space':
        return only(' ');
      case 'edge':
        return node.source === '\\b' ? only(EDGE) : only('');
      case 'char':
        // A raw pattern may ignore case, and then other letters than this one match.
        return (isRaw && node.text > '\x7f') || node.text === EDGE ? needNothing(end) : only(node.text.toLowerCase());
      case 'class': {
        const members = classMembers(node, isRaw);
        return members ? only(...members) : needNothing(end);
      }
      case 'sequence':
        return readSequence(node.parts, left, right, read);
      case 'choice':
        return chooseNeeds(
          node.options.map((option) => read(option, left, right)),
          end,
        );
      case 'group':
        return node.of ? read(node.of, left, right) : only('');
      case 'words':
        return read(node.of, left, right);
      case 'repeat': {
        if (node.min === 1 && node.max === 1) return read(node.of, left, right);
        const of = read(node.of, '', '');
        if (node.min > 0) return repeatNeeds(of, node.min, [left, right], end);
        return node.max === 1 && of.exact ? only('', ...of.exact) : needNothing(end);
      }
      default:
        return needNothing(end);
    }
  };
  return read;
}

const isEdge = (node: PatternNode | undefined): boolean => node?.kind === 'edge' && node.source === '\\b';

/** Edges go into the parts beside them: `\b(?:a|b)` is `\ba|\bb`, and so it is after a space. */
function readSequence(parts: readonly PatternNode[], left: string, right: string, read: Reader): Needs {
  const inner = parts.filter((part) => !isEdge(part));
  if (inner.length === 0) return needExactly([left + EDGE + right], START);
  const needs: Needs[] = [];
  parts.forEach((part, at) => {
    if (isEdge(part)) return;
    const before = at === 0 ? left : hasEdge(parts.slice(0, at).reverse(), 'last') ? EDGE : '';
    const after = at === parts.length - 1 ? right : hasEdge(parts.slice(at + 1), 'first') ? EDGE : '';
    needs.push(read(part, before, after));
  });
  return joinNeeds(needs);
}

/** ASCII but no letter or digit: in the alphabet of `symbols.ts` a space stands between it and a letter. */
const NO_WORD = /^[\0-/:-@[-`{-\x7f]$/;

function isNoWord(low: number, high: number): boolean {
  for (let point = low; point <= high; point++) if (!NO_WORD.test(String.fromCodePoint(point))) return false;
  return true;
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
    case 'char':
      return NO_WORD.test(node.text);
    case 'class':
      return !node.negated && node.items.every((item) => 'low' in item && isNoWord(item.low, item.high));
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
    for (let point = item.low; point <= item.high; point++) {
      members.add(spaceRuns(String.fromCodePoint(point).toLowerCase()));
    }
  }
  return members.size <= 8 ? [...members] : undefined;
}
