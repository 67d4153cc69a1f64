import { PortcullisError } from '../../errors.js';
import type { ClassItem, PatternNode, PatternProblem } from './pattern-node.js';

/** Gives the tree of a word list, or what is wrong with the name. */
export type WordLookup = (name: string, at: number, length: number) => PatternNode | PatternProblem;

export type ParseResult =
  | { readonly ok: true; readonly node: PatternNode }
  | { readonly ok: false; readonly problem: PatternProblem };

/** Thrown and caught inside this file alone: the parser's way out of its recursion. */
class Refusal extends PortcullisError {
  readonly code: string;
  readonly problem: PatternProblem;
  constructor(problem: PatternProblem) {
    super(problem.message);
    this.code = problem.code;
    this.problem = problem;
  }
}

function refuse(message: string, advice: string, at: number, length = 1): never {
  throw new Refusal({ code: 'PACK021', message, advice, at, length });
}

const MAX_DEPTH = 40;
/** A control character in a source is nearly always an escape that an editor or a YAML string has eaten: `\b` read as backspace. */
const CONTROL_CHARACTER = /[^\P{Cc}\t\n]/u;
const CONTROL_MESSAGE = 'A control character stands in this pattern.';

/** A pattern that is being parsed: `at` is where the next part begins, `depth` how many groups are open. */
interface Parser {
  readonly source: string;
  readonly words: WordLookup;
  at: number;
  depth: number;
}

/**
 * Parses RE2 syntax with Portcullis's conveniences (`{{words}}`, a literal space). Captures become plain groups:
 * a finding is the whole match.
 */
export function parsePattern(source: string, words: WordLookup): ParseResult {
  const parser: Parser = { source, words, at: 0, depth: 0 };
  try {
    const control = source.search(CONTROL_CHARACTER);
    if (control >= 0) refuse(CONTROL_MESSAGE, 'Write the escape, for example `\\b` for a word boundary.', control);
    const node = parseChoice(parser);
    if (parser.at < source.length)
      refuse('This `)` closes nothing.', 'Write `\\)` for a bracket in the text.', parser.at);
    return { ok: true, node };
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, problem: error.problem };
    throw error;
  }
}

function parseChoice(parser: Parser): PatternNode {
  parser.depth += 1;
  if (parser.depth > MAX_DEPTH) refuse('Groups are nested too deep.', `Nest at most ${MAX_DEPTH} groups.`, parser.at);
  const options = [parseSequence(parser)];
  while (parser.source[parser.at] === '|') {
    parser.at += 1;
    options.push(parseSequence(parser));
  }
  parser.depth -= 1;
  return options.length === 1 ? (options[0] as PatternNode) : { kind: 'choice', options };
}

function parseSequence(parser: Parser): PatternNode {
  const { source } = parser;
  const parts: PatternNode[] = [];
  while (parser.at < source.length && source[parser.at] !== '|' && source[parser.at] !== ')')
    parts.push(parseRepeat(parser));
  if (parts.length === 0) return { kind: 'empty' };
  return parts.length === 1 ? (parts[0] as PatternNode) : { kind: 'sequence', parts };
}

function parseRepeat(parser: Parser): PatternNode {
  const { at } = parser;
  const of = parseSingle(parser);
  const bounds = parseQuantifier(parser);
  if (!bounds) return of;
  if (of.kind === 'edge' || (of.kind === 'group' && !of.of))
    refuse('There is nothing here to repeat.', 'Drop the quantifier.', parser.at - 1);
  if (parseQuantifier(parser))
    refuse('Two quantifiers in a row.', 'Put the first part in a group: `(?:...)`.', parser.at - 1);
  return { kind: 'repeat', of, ...bounds, at };
}

const COUNT = /\{(\d+)(?:(,)(\d*))?\}/y;
const SIGNS: Readonly<Record<string, readonly [min: number, max: number]>> = {
  '?': [0, 1],
  '*': [0, Number.POSITIVE_INFINITY],
  '+': [1, Number.POSITIVE_INFINITY],
};

function parseQuantifier(parser: Parser): { min: number; max: number; lazy: boolean } | undefined {
  const { source, at } = parser;
  const count = take(COUNT, parser);
  let bounds = SIGNS[source[at] ?? ''];
  if (count) {
    const [text, least, comma, most] = count;
    const min = Number(least);
    bounds = [min, comma === undefined ? min : most ? Number(most) : Number.POSITIVE_INFINITY];
    if (bounds[1] < min) refuse('This count runs backwards.', 'Write `{least,most}`.', at, text.length);
  } else if (bounds) parser.at += 1;
  if (!bounds) return undefined;
  const lazy = source[parser.at] === '?';
  if (lazy) parser.at += 1;
  return { min: bounds[0], max: bounds[1], lazy };
}

const GROUP = /\((?:\?(?:P?<[A-Za-z_]\w*>|([imsU]*(?:-[imsU]+)?)([:)])))?/y;

function parseGroup(parser: Parser): PatternNode {
  const { source, at } = parser;
  const [head = '(', flags = '', end] = take(GROUP, parser) ?? [];
  if (head === '(' && source[at + 1] === '?')
    refuse('RE2 has no look-around and no such group.', 'Use `except`, or a `sequence` of steps.', at, 3);
  if (end === ')') return { kind: 'group', of: undefined, flags };
  const of = parseChoice(parser);
  if (source[parser.at] !== ')') refuse('This group is never closed.', 'Add the closing `)`.', at);
  parser.at += 1;
  return { kind: 'group', of, flags };
}

const WORDS = /\{\{([A-Za-z0-9_.-]+)\}\}/y;

function parseSingle(parser: Parser): PatternNode {
  const { source, at } = parser;
  const letter = source[at] as string;
  if (letter === '(') return parseGroup(parser);
  if (letter === '[') return parseClass(parser);
  if (letter === '\\') return parseEscape(parser);
  if (letter in SIGNS) refuse('There is nothing here to repeat.', `Write \`\\${letter}\`.`, at);
  const list = take(WORDS, parser);
  if (list) {
    const [text, name = ''] = list;
    const of = parser.words(name, at, text.length);
    if ('code' in of) throw new Refusal(of);
    return { kind: 'words', name, of, at };
  }
  const text = String.fromCodePoint(source.codePointAt(at) as number);
  parser.at += text.length;
  if (letter === ' ') return { kind: 'space', at };
  if (letter === '.') return { kind: 'dot', at };
  if (letter === '^' || letter === '$') return { kind: 'edge', source: letter, at };
  return { kind: 'char', text, at };
}

function parseEscape(parser: Parser): PatternNode {
  const { at } = parser;
  const { point, source } = readEscape(parser);
  if (point !== undefined) return { kind: 'char', text: String.fromCodePoint(point), at };
  if ('bBAz'.includes(source[1] as string)) return { kind: 'edge', source, at };
  return { kind: 'class', negated: false, items: [{ escape: source }], at };
}

const NAMED_CLASS = /\[:.*?:\]/sy;

function parseClass(parser: Parser): PatternNode {
  const { source, at } = parser;
  const negated = source[at + 1] === '^';
  parser.at += negated ? 2 : 1;
  const items: ClassItem[] = [];
  while (items.length === 0 || source[parser.at] !== ']') {
    const start = parser.at;
    if (start >= source.length) refuse('This character class is never closed.', 'Add the closing `]`.', at);
    const named = take(NAMED_CLASS, parser);
    if (named) {
      items.push({ escape: named[0] });
      continue;
    }
    if (source.startsWith('[:', start))
      refuse('This named class is never closed.', 'Write `[:alpha:]` or escape the `[`.', start, 2);
    const low = readMember(parser);
    if (low.point === undefined) items.push({ escape: low.source });
    else if (source[parser.at] !== '-' || source[parser.at + 1] === ']')
      items.push({ low: low.point, high: low.point });
    else items.push(parseRange(parser, low.point));
  }
  parser.at += 1;
  return { kind: 'class', negated, items, at };
}

/** Parses the rest of a range, from its hyphen on. */
function parseRange(parser: Parser, low: number): ClassItem {
  const { at } = parser;
  parser.at += 1;
  const { point: high } = readMember(parser);
  if (high === undefined || high < low)
    refuse('This range has no order.', 'Write the lower character first.', at - 1, parser.at - at + 1);
  return { low, high };
}

/** A character (`point`), or a class or edge that RE2 knows by this source. */
interface Character {
  readonly point: number | undefined;
  readonly source: string;
}

function readMember(parser: Parser): Character {
  const { source, at } = parser;
  if (source[at] === '\\') return readEscape(parser);
  const point = source.codePointAt(at);
  if (point === undefined) return refuse('The pattern ends inside a character class.', 'Add the closing `]`.', at);
  const text = String.fromCodePoint(point);
  parser.at += text.length;
  return { point, source: text };
}

const CONTROLS: Readonly<Record<string, number>> = { n: 10, t: 9, r: 13, f: 12, v: 11, a: 7 };
const HEX = /\\(?:x([0-9a-fA-F]{2})|x\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\})/y;
const PROPERTY = /\\(?:[pP](?:[A-Z]|\{\^?[A-Za-z_=]+\})|[dDwWsSbBAz])/y;

function readEscape(parser: Parser): Character {
  const { at } = parser;
  const hex = take(HEX, parser);
  if (hex) {
    const [source, ...digits] = hex;
    const point = Number.parseInt(digits.join(''), 16);
    if (point > 0x10ffff) refuse('There is no such code point.', 'Use at most 10FFFF.', at, source.length);
    return { point, source };
  }
  const property = take(PROPERTY, parser);
  if (property) return { point: undefined, source: property[0] };
  const letter = parser.source[at + 1];
  if (letter === undefined) return refuse('The pattern ends in a lone backslash.', 'Write `\\\\` for a backslash.', at);
  if (/[0-9]/.test(letter)) refuse('RE2 has no back-references.', 'Write the alternatives out.', at, 2);
  const control = CONTROLS[letter];
  if (control === undefined && /[A-Za-z]/.test(letter))
    refuse(`RE2 has no escape \`\\${letter}\`.`, 'Leave the backslash out, or see the RE2 syntax page.', at, 2);
  const point = control ?? (parser.source.codePointAt(at + 1) as number);
  const source = `\\${control === undefined ? String.fromCodePoint(point) : letter}`;
  parser.at += source.length;
  return { point, source };
}

function take(expression: RegExp, parser: Parser): RegExpExecArray | null {
  expression.lastIndex = parser.at;
  const match = expression.exec(parser.source);
  parser.at += match?.[0].length ?? 0;
  return match;
}
