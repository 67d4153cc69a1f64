import type { Pattern, RegexCompiler } from '../ports.js';
import type { Paranoia } from './types.js';
import type { PatternForm, PreparedPattern } from './prepare-pattern.js';
import type { ScriptMask } from './scripts.js';

/** One distinct pattern of a pack, shared by every step that uses it. */
export interface Atom {
  /** Its place in the pack's list of atoms. */
  readonly index: number;
  readonly form: PatternForm;
  readonly relaxed: string;
  readonly longest: number;
  readonly scripts: ScriptMask;
  readonly pattern: Pattern;
  /** The steps that it makes true. */
  readonly uses: AtomUse[];
  /** The lowest level and the views (bits) at which a step needs it; filled while rules are added. */
  tier: Paranoia;
  views: number;
}

export interface AtomUse {
  readonly rule: number;
  readonly step: number;
}

/** Collects atoms; equal patterns become one. */
export interface AtomTable {
  readonly atoms: readonly Atom[];
  add(prepared: PreparedPattern): Atom;
}

export function createAtomTable(compiler: RegexCompiler): AtomTable {
  const atoms: Atom[] = [];
  const known = new Map<string, Atom>();
  return {
    atoms,
    add(prepared) {
      const key = `${prepared.form} ${prepared.source}`;
      const same = known.get(key);
      if (same) return same;
      const atom: Atom = {
        index: atoms.length,
        form: prepared.form,
        relaxed: prepared.relaxed,
        longest: prepared.longest,
        scripts: prepared.scripts,
        pattern: compiler.compile(prepared.source),
        uses: [],
        tier: 3,
        views: 0,
      };
      atoms.push(atom);
      known.set(key, atom);
      return atom;
    },
  };
}
