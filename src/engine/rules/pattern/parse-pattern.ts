import { parseClass } from './parse-class.js';
import type { PatternNode, PatternProblem } from './pattern-node.js';
import { readEscape } from './read-escape.js';

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
  throw new Refusal({ code: 'PACK021', message, advice, at, length });
};
const WORDS = /^\{\{([A-Za-z0-9_.-]+)\}\}/;
const GROUP = /^\((?:\?(?:P?<[A-Za-z_]\w*>|([imsU]*(?:-[imsU]+)?)([:)])))?/;
const COUNT = /^\{(\d+)(?:(,)(\d*))?\}/;
const MAX_DEPTH = 40;

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
    const node = choice();
    if (i < source.length) refuse('This `)` closes nothing.', 'Write `\\)` for a bracket in the text.', i);
    return { ok: true, node };
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, problem: error.problem };
    throw error;
  }
}
