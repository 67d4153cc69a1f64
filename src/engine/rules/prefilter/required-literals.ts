import { measurePattern } from '../pattern/measure-pattern.js';
import { type PatternNode, rememberChoices } from '../pattern/pattern-node.js';
import { collapseSpaces } from './alphabet.js';
import {
  alternate,
  concatenate,
  type LiteralInfo,
  listSets,
  matchAnything,
  matchExactly,
  repeat,
} from './literal-info.js';
import {
  type Alternative,
  estimateFrequency,
  maxDistance,
  minimize,
  type Position,
  type PositionedSet,
  type RequiredLiteralSet,
  START,
  TOO_COMMON,
  WORD_BOUNDARY,
} from './literal-set.js';

/** Characters kept of a literal: more would add states to the automaton and hardly any selectivity. */
const MAX_LENGTH = 14;
/** Literal sets kept of an alternative. */
const MAX_SETS = 4;
/** Alternatives with more than one set that are kept apart. */
const MAX_ALTERNATIVES = 12;

/**
 * The alternatives of a pattern: every match contains a literal of each set of one of them, in their order. Only the rarest
 * sets of each; empty when a match may contain none of the literals.
 *
 * @see Cox, Regular expression matching with a trigram index (2012), and `prefilter.cc` of RE2
 */
export function requiredLiterals(node: PatternNode, isRaw: boolean): readonly Alternative[] {
  const alternatives = readAlternatives(node, isRaw ? readRaw : readFolded, '', '').map((info) => ({
    required: rarestSets(listSets(info)),
    end: info.end,
  }));
  if (alternatives.some(({ required }) => required.length === 0)) return [];
  const apart = alternatives.filter(({ required }) => required.length > 1).slice(0, MAX_ALTERNATIVES);
  const rest = alternatives.filter((alternative) => !apart.includes(alternative));
  const bounded = rest.filter(({ end }) => end.unbounded === 0);
  const unbounded = rest.filter(({ end }) => end.unbounded > 0);
  return [...apart, ...mergeAlternatives(bounded), ...mergeAlternatives(unbounded)];
}

/** Several alternatives as one, by the rarest set of each. */
function mergeAlternatives(alternatives: readonly Alternative[]): readonly Alternative[] {
  if (alternatives.length === 0) return [];
  const end = alternatives.map((alternative) => alternative.end).reduce((a, b) => (maxDistance(a, b) > 0 ? b : a));
  const literals = minimize(
    alternatives.flatMap(({ required }) => [...required].sort((a, b) => a.frequency - b.frequency)[0]?.literals ?? []),
  );
  return [{ required: [{ literals, frequency: estimateFrequency(literals), from: START, to: end }], end }];
}

function rarestSets(sets: readonly PositionedSet[]): readonly RequiredLiteralSet[] {
  const known = new Set<string>();
  const required = sets.flatMap(({ literals, from, to }): readonly RequiredLiteralSet[] => {
    const short = minimize(minimize(literals).map((literal) => [...literal].slice(0, MAX_LENGTH).join('')));
    const key = short.join('\n');
    if (known.has(key)) return [];
    known.add(key);
    return [{ literals: short, frequency: estimateFrequency(short), from, to }];
  });
  const limit = required.map(({ frequency }) => frequency).sort((a, b) => a - b)[MAX_SETS] ?? TOO_COMMON;
  return required.filter(({ frequency }) => frequency < Math.min(limit, TOO_COMMON));
}

function endPosition(node: PatternNode): Position {
  const { longest } = measurePattern(node);
  return longest === Number.POSITIVE_INFINITY ? { unbounded: 1, offset: 0 } : { unbounded: 0, offset: longest };
}

/** Reads a node between a left and a right boundary (`WORD_BOUNDARY` or nothing), so that each of its options gets them. */
type Reader = (node: PatternNode, left: string, right: string) => LiteralInfo;

/** The options of a pattern that is a choice, each on its own. */
function readAlternatives(node: PatternNode, read: Reader, left: string, right: string): readonly LiteralInfo[] {
  if (node.kind === 'choice') return node.options.flatMap((option) => readAlternatives(option, read, left, right));
  if (node.kind === 'group' && node.of) return readAlternatives(node.of, read, left, right);
  if (node.kind === 'sequence') {
    const at = node.parts.findIndex((part) => !isBoundary(part));
    const inner = node.parts[at];
    if (inner && node.parts.every((part) => part === inner || isBoundary(part))) {
      return readAlternatives(
        inner,
        read,
        at > 0 ? WORD_BOUNDARY : left,
        at < node.parts.length - 1 ? WORD_BOUNDARY : right,
      );
    }
  }
  return [read(node, left, right)];
}

function createReader(isRaw: boolean): Reader {
  /** Literals of a choice that was read before, by the boundaries around it. */
  const readsOf = rememberChoices(() => new Map<string, LiteralInfo>());
  const read: Reader = (node, left, right) => {
    const end = endPosition(node);
    const only = (...exact: readonly string[]): LiteralInfo =>
      matchExactly(
        exact.map((text) => left + text + right),
        end,
      );
    switch (node.kind) {
      case 'empty':
        return only('');
      case 'space':
        return only(' ');
      case 'edge':
        return node.source === '\\b' ? only(WORD_BOUNDARY) : only('');
      case 'char':
        // A raw pattern may ignore case, and then other letters than this one match.
        return (isRaw && node.text > '\x7f') || node.text === WORD_BOUNDARY
          ? matchAnything(end)
          : only(node.text.toLowerCase());
      case 'class': {
        const members = classMembers(node, isRaw);
        return members ? only(...members) : matchAnything(end);
      }
      case 'sequence':
        return readSequence(node.parts, left, right, read);
      case 'choice': {
        const reads = readsOf(node);
        const boundaries = `${left} ${right}`;
        const info =
          reads.get(boundaries) ??
          alternate(
            node.options.map((option) => read(option, left, right)),
            end,
          );
        reads.set(boundaries, info);
        return info;
      }
      case 'group':
        return node.of ? read(node.of, left, right) : only('');
      case 'words':
        return read(node.of, left, right);
      case 'repeat': {
        if (node.min === 1 && node.max === 1) return read(node.of, left, right);
        const of = read(node.of, '', '');
        if (node.min > 0) return repeat(of, node.min, [left, right], end);
        return node.max === 1 && of.exact ? only('', ...of.exact) : matchAnything(end);
      }
      default:
        return matchAnything(end);
    }
  };
  return read;
}

const readRaw = createReader(true);
const readFolded = createReader(false);

const isBoundary = (node: PatternNode | undefined): boolean => node?.kind === 'edge' && node.source === '\\b';

/** Word boundaries go into the parts beside them: `\b(?:a|b)` is `\ba|\bb`, and so it is after a space. */
function readSequence(parts: readonly PatternNode[], left: string, right: string, read: Reader): LiteralInfo {
  const inner = parts.filter((part) => !isBoundary(part));
  if (inner.length === 0) return matchExactly([left + WORD_BOUNDARY + right], START);
  const infos: LiteralInfo[] = [];
  parts.forEach((part, at) => {
    if (isBoundary(part)) return;
    const before = at === 0 ? left : hasBoundary(parts.slice(0, at).reverse(), 'last') ? WORD_BOUNDARY : '';
    const after = at === parts.length - 1 ? right : hasBoundary(parts.slice(at + 1), 'first') ? WORD_BOUNDARY : '';
    infos.push(read(part, before, after));
  });
  return concatenate(infos);
}

/** ASCII but no letter or digit: in the alphabet a space stands between it and a letter. */
const NON_WORD = /^[\0-/:-@[-`{-\x7f]$/;

function isNonWord(low: number, high: number): boolean {
  for (let point = low; point <= high; point++) if (!NON_WORD.test(String.fromCodePoint(point))) return false;
  return true;
}

/** True when the parts beside a position, the nearest first, always begin (or end) with a word boundary or a space. */
function hasBoundary(nearest: readonly PatternNode[], side: 'first' | 'last'): boolean {
  for (const part of nearest) {
    if (isBoundary(part) || isSpaceAt(part, side)) return true;
    if (part.kind !== 'repeat' || part.min > 0 || !isSpaceAt(part.of, side)) return false;
  }
  return false;
}

function isSpaceAt(node: PatternNode, side: 'first' | 'last'): boolean {
  switch (node.kind) {
    case 'space':
      return true;
    case 'char':
      return NON_WORD.test(node.text);
    case 'class':
      return !node.negated && node.items.every((item) => 'low' in item && isNonWord(item.low, item.high));
    case 'choice':
      return node.options.every((option) => isSpaceAt(option, side));
    case 'group':
      return node.of !== undefined && isSpaceAt(node.of, side);
    case 'words':
      return isSpaceAt(node.of, side);
    case 'repeat':
      return node.min > 0 && isSpaceAt(node.of, side);
    case 'sequence':
      return hasBoundary(side === 'first' ? node.parts : [...node.parts].reverse(), side);
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
      members.add(collapseSpaces(String.fromCodePoint(point).toLowerCase()));
    }
  }
  return members.size <= 8 ? [...members] : undefined;
}
