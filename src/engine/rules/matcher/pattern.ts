import type { Span } from '../../span.js';
import { parsePattern } from '../pattern/parse-pattern.js';
import { PatternError } from '../pattern/pattern-error.js';
import { toExpression } from './expression.js';
import type { Programs, ProgramWriter } from './programs.js';
import { search } from './search.js';

/** A pattern. Matching never throws. Texts are the UTF-16 code units of well-formed strings. */
export interface Pattern {
  /** Makes it ready, if it isn't: a millisecond. */
  compile(): void;
  /** Finds the matches that begin in `starts`, both ends included: leftmost first, without overlap. */
  findAll(text: Uint16Array, starts: Span): readonly Span[];
  /** Whether a match begins in `starts`, both ends included. */
  beginsIn(text: Uint16Array, starts: Span): boolean;
}

/**
 * A pattern whose program is at an address, which is asked for once, when it is first needed. With `patience` a search gives up after so many
 * steps a character.
 */
export function createPattern(
  programs: Programs,
  addressOf: () => number,
  patience: number = Number.POSITIVE_INFINITY,
): Pattern {
  let address = -1;
  const compile = (): number => {
    if (address < 0) address = addressOf();
    return address;
  };
  return {
    compile,
    findAll: (text, starts) => search(programs, compile(), text, starts, Number.POSITIVE_INFINITY, patience),
    beginsIn: (text, starts) => search(programs, compile(), text, starts, 1, patience).length > 0,
  };
}

/** Writes the program of RE2 source that has no word lists; gives its address. @throws PatternError */
export function compileSource(source: string, writer: ProgramWriter): number {
  const parsed = parsePattern(source, (name) => {
    throw new PatternError(`the word list \`${name}\` isn't expanded`);
  });
  if (!parsed.ok) throw new PatternError(parsed.problem.message);
  return writer.add(toExpression(parsed.node));
}
