import type { Pattern, RegexCompiler } from '../../ports.js';
import type { LiteralWay } from '../prefilter/clause.js';
import type { PreparedPattern } from './prepare-pattern.js';
import type { ScriptMask } from './scripts.js';

/** One distinct pattern of a pack, shared by every step that uses it. */
export interface Atom {
  /** For sets; of an atom without literals, and of no other. */
  readonly relaxed: string | undefined;
  /** Its place in the pack's list of atoms. */
  readonly index: number;
  readonly longest: number;
  /** The most that a match counts; see `countedLength`. */
  readonly counted: number;
  readonly scripts: ScriptMask;
  readonly literals: readonly LiteralWay[];
  readonly pattern: Pattern;
}

/** An atom that no literal announces: pattern sets ask for it. */
export type AskedAtom = Atom & { readonly relaxed: string };

export const isAsked = (atom: Atom): atom is AskedAtom => atom.relaxed !== undefined;

/** Collects atoms; equal patterns become one. */
export interface AtomTable {
  readonly size: number;
  add(prepared: PreparedPattern): Atom;
}

/** Makes a table. With `lazy`, a pattern is compiled when it is first asked: only for patterns that are known to compile. */
export function createAtomTable(compiler: RegexCompiler, lazy: boolean): AtomTable {
  const known = new Map<string, Atom>();
  return {
    get size() {
      return known.size;
    },
    add(prepared) {
      const key = `${prepared.form} ${prepared.source}`;
      const same = known.get(key);
      if (same) return same;
      const { relaxed, longest, counted, scripts, literals, source } = prepared;
      const pattern = lazy ? lazyPattern(source, compiler) : compiler.compile(source);
      const atom = { index: known.size, relaxed, longest, counted, scripts, literals, pattern };
      known.set(key, atom);
      return atom;
    },
  };
}

function lazyPattern(source: string, compiler: RegexCompiler): Pattern {
  let pattern: Pattern | undefined;
  const compiled = (): Pattern => {
    pattern ??= compiler.compile(source);
    return pattern;
  };
  return {
    occursIn: (subject, part) => compiled().occursIn(subject, part),
    findAll: (subject, max) => compiled().findAll(subject, max),
  };
}
