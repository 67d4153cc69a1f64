import type { ClassItem, PatternNode, PatternProblem } from './pattern-node.js';

/** Gives the tree of a word list, or what is wrong with the name. */
export type WordLookup = (name: string, at: number, length: number) => PatternNode | PatternProblem;

export type ParseResult =
  | { readonly ok: true; readonly node: PatternNode }
  | { readonly ok: false; readonly problem: PatternProblem };

/** Thrown and caught inside this file alone: the parser's way out of its recursion. */
class Refusal extends Error {
  readonly problem: PatternProblem;
  constructor(problem: PatternProblem) {
    super(problem.message);
    this.problem = problem;
  }
}

const refuse = (message: string, advice: string, at: number, length = 1): never => {
  throw new Refusal(syntaxError(message, advice, at, length));
};
const WORDS = /^\{\{([A-Za-z0-9_.-]+)\}\}/;
const GROUP = /^\((?:\?(?:P?<[A-Za-z_]\w*>|([imsU]*(?:-[imsU]+)?)([:)])))?/;
const COUNT = /^\{(\d+)(?:(,)(\d*))?\}/;
const MAX_DEPTH = 40;
/** A control character in a source is nearly always an escape that an editor or a YAML string has eaten: `\b` read as backspace. */
const CONTROL_CHARACTER = /[^\P{Cc}\t\n]/u;
const CONTROL_MESSAGE = 'A control character stands in this pattern.';

/**
 * Parses RE2 syntax with Portcullis's conveniences (`{{words}}`, a literal space). Captures become plain groups:
 * a finding is the whole match, and without captures RE2 stays in its fast automaton.
 */
export function parsePattern(source: string, words: WordLookup): ParseResult {
  let i = 0;
  let depth = 0;

  const choice = (): PatternNode => {
    if (++depth > MAX_DEPTH) refuse('Groups are nested too deep.', `Nest at most ${MAX_DEPTH} groups.`, i);
    const options = [sequence()];
    while (source[i] === '|') {
      i++;
      options.push(sequence());
    }
    depth--;
    return options.length === 1 ? (options[0] as PatternNode) : { kind: 'choice', options };
  };

  const sequence = (): PatternNode => {
    const parts: PatternNode[] = [];
    while (i < source.length && source[i] !== '|' && source[i] !== ')') parts.push(repeated());
    if (parts.length === 0) return { kind: 'empty' };
    return parts.length === 1 ? (parts[0] as PatternNode) : { kind: 'sequence', parts };
  };

  const repeated = (): PatternNode => {
    const start = i;
    const of = single();
    const bounds = quantifier();
    if (!bounds) return of;
    if (of.kind === 'edge' || (of.kind === 'group' && !of.of)) {
      refuse('There is nothing here to repeat.', 'Drop the quantifier.', i - 1);
    }
    if (quantifier()) refuse('Two quantifiers in a row.', 'Put the first part in a group: `(?:...)`.', i - 1);
    return { kind: 'repeat', of, ...bounds, at: start };
  };

  const quantifier = (): { min: number; max: number; lazy: boolean } | undefined => {
    const at = i;
    const count = COUNT.exec(source.slice(i, i + 16));
    let bounds: readonly [number, number];
    if (count) {
      const min = Number(count[1]);
      bounds = [min, count[2] === undefined ? min : count[3] ? Number(count[3]) : Number.POSITIVE_INFINITY];
      if (bounds[1] < bounds[0]) refuse('This count runs backwards.', 'Write `{least,most}`.', at, count[0].length);
      i += count[0].length;
    } else {
      const sign = source[i];
      if (sign !== '*' && sign !== '+' && sign !== '?') return undefined;
      bounds = sign === '?' ? [0, 1] : [sign === '*' ? 0 : 1, Number.POSITIVE_INFINITY];
      i++;
    }
    const lazy = source[i] === '?';
    if (lazy) i++;
    return { min: bounds[0], max: bounds[1], lazy };
  };

  const group = (): PatternNode => {
    const at = i;
    const head = GROUP.exec(source.slice(i, i + 80))?.[0] ?? '(';
    const flags = /^\(\?([imsU]*(?:-[imsU]+)?)[:)]/.exec(head)?.[1] ?? '';
    if (head === '(' && source[i + 1] === '?') {
      refuse('RE2 has no look-around and no such group.', 'Use `except`, or a `sequence` of steps.', at, 3);
    }
    i += head.length;
    if (head.endsWith(')')) return { kind: 'group', of: undefined, flags };
    const of = choice();
    if (source[i] !== ')') refuse('This group is never closed.', 'Add the closing `)`.', at);
    i++;
    return { kind: 'group', of, flags };
  };

  const single = (): PatternNode => {
    const at = i;
    const letter = source[i] as string;
    if (letter === '(') return group();
    if (letter === '[') return take(parseClass(source, at));
    if (letter === '*' || letter === '+' || letter === '?')
      refuse('There is nothing here to repeat.', `Write \`\\${letter}\`.`, at);
    if (letter === '\\') return escaped();
    const list = letter === '{' ? WORDS.exec(source.slice(i, i + 80)) : null;
    if (list) {
      i += list[0].length;
      const of = words(list[1] as string, at, list[0].length);
      if ('code' in of) throw new Refusal(of);
      return { kind: 'words', name: list[1] as string, of, at };
    }
    const text = String.fromCodePoint(source.codePointAt(i) as number);
    i += text.length;
    if (letter === ' ') return { kind: 'space', at };
    if (letter === '.') return { kind: 'dot', at };
    if (letter === '^' || letter === '$') return { kind: 'edge', source: letter, at };
    return { kind: 'char', text, at };
  };

  const escaped = (): PatternNode => {
    const at = i;
    const reading = readEscape(source, at);
    if ('code' in reading) throw new Refusal(reading);
    i = reading.end;
    if (reading.point !== undefined) return { kind: 'char', text: String.fromCodePoint(reading.point), at };
    if ('bBAz'.includes(reading.source[1] as string)) return { kind: 'edge', source: reading.source, at };
    return { kind: 'class', negated: false, items: [{ escape: reading.source }], at };
  };

  const take = (reading: ReturnType<typeof parseClass>): PatternNode => {
    if ('code' in reading) throw new Refusal(reading);
    i = reading.end;
    return reading.node;
  };

  try {
    const control = source.search(CONTROL_CHARACTER);
    if (control >= 0) refuse(CONTROL_MESSAGE, 'Write the escape, for example `\\b` for a word boundary.', control);
    const node = choice();
    if (i < source.length) refuse('This `)` closes nothing.', 'Write `\\)` for a bracket in the text.', i);
    return { ok: true, node };
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, problem: error.problem };
    throw error;
  }
}

interface ClassReading {
  readonly node: PatternNode;
  readonly end: number;
}

/** Reads a `[...]` class that starts at `at`. */
function parseClass(source: string, at: number): ClassReading | PatternProblem {
  let i = at + 1;
  const negated = source[i] === '^';
  if (negated) i++;
  const items: ClassItem[] = [];
  let first = true;
  for (;;) {
    if (i >= source.length) return syntaxError('This character class is never closed.', 'Add the closing `]`.', at);
    if (source[i] === ']' && !first) return { node: { kind: 'class', negated, items, at }, end: i + 1 };
    first = false;
    if (source.startsWith('[:', i)) {
      const close = source.indexOf(':]', i);
      if (close < 0)
        return syntaxError('This named class is never closed.', 'Write `[:alpha:]` or escape the `[`.', i, 2);
      items.push({ escape: source.slice(i, close + 2) });
      i = close + 2;
      continue;
    }
    const low = readMember(source, i);
    if ('code' in low) return low;
    i = low.end;
    if (source[i] !== '-' || source[i + 1] === ']' || low.point === undefined) {
      items.push(low.point === undefined ? { escape: low.source } : { low: low.point, high: low.point });
      continue;
    }
    const high = readMember(source, i + 1);
    if ('code' in high) return high;
    if (high.point === undefined || high.point < low.point) {
      return syntaxError('This range has no order.', 'Write the lower character first.', i - 1, high.end - i + 1);
    }
    items.push({ low: low.point, high: high.point });
    i = high.end;
  }
}

function readMember(source: string, at: number): EscapeReading | PatternProblem {
  if (source[at] === '\\') return readEscape(source, at);
  const point = source.codePointAt(at);
  if (point === undefined) return syntaxError('The pattern ends inside a character class.', 'Add the closing `]`.', at);
  const text = String.fromCodePoint(point);
  return { point, source: text, end: at + text.length };
}

/** An escape: a character (`point`), or a class or edge that RE2 knows by this source. */
interface EscapeReading {
  readonly point: number | undefined;
  readonly source: string;
  /** Offset just after it. */
  readonly end: number;
}

const CONTROLS: Readonly<Record<string, number>> = { n: 10, t: 9, r: 13, f: 12, v: 11, a: 7 };
const HEX = /^(?:x([0-9a-fA-F]{2})|x\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\})/;
const PROPERTY = /^[pP](?:[A-Z]|\{\^?[A-Za-z_=]+\})/;

/** Reads the escape that starts with the backslash at `at`. */
function readEscape(source: string, at: number): EscapeReading | PatternProblem {
  const rest = source.slice(at + 1, at + 40);
  const letter = rest[0];
  if (letter === undefined)
    return syntaxError('The pattern ends in a lone backslash.', 'Write `\\\\` for a backslash.', at, 1);
  const hex = HEX.exec(rest);
  if (hex) {
    const point = Number.parseInt(hex[1] ?? hex[2] ?? hex[3] ?? hex[4] ?? '', 16);
    if (point > 0x10ffff)
      return syntaxError('There is no such code point.', 'Use at most 10FFFF.', at, hex[0].length + 1);
    return { point, source: source.slice(at, at + 1 + hex[0].length), end: at + 1 + hex[0].length };
  }
  const property = PROPERTY.exec(rest);
  if (property) return named(source, at, property[0].length);
  const control = CONTROLS[letter];
  if (control !== undefined) return { point: control, source: `\\${letter}`, end: at + 2 };
  if ('dDwWsSbBAz'.includes(letter)) return named(source, at, 1);
  if (/[0-9]/.test(letter)) {
    return syntaxError('RE2 has no back-references.', 'Write the alternatives out.', at, 2);
  }
  if (/[A-Za-z]/.test(letter)) {
    return syntaxError(
      `RE2 has no escape \`\\${letter}\`.`,
      'Leave the backslash out, or see the RE2 syntax page.',
      at,
      2,
    );
  }
  const point = source.codePointAt(at + 1) ?? 0;
  const text = String.fromCodePoint(point);
  return { point, source: `\\${text}`, end: at + 1 + text.length };
}

function named(source: string, at: number, length: number): EscapeReading {
  return { point: undefined, source: source.slice(at, at + 1 + length), end: at + 1 + length };
}

function syntaxError(message: string, advice: string, at: number, length = 1): PatternProblem {
  return { code: 'PACK021', message, advice, at, length };
}
