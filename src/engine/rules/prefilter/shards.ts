import type { PatternSet, RegexCompiler } from '../../ports.js';
import type { AskedAtom } from '../pattern/atoms.js';
import { rarestScript, type ScriptMask } from '../pattern/scripts.js';

/** A set of atoms that are asked together, and when. */
export interface Shard {
  readonly atoms: readonly AskedAtom[];
  readonly set: PatternSet;
  /** The text must hold this family; 0: any text. */
  readonly script: ScriptMask;
}

/** Patterns in one set, at most. */
const MAX_PATTERNS = 64;
/** Characters of source in one set, at most: what the automaton's size goes by. */
const MAX_CHARACTERS = 12_000;

/**
 * Cuts atoms into sets of bounded size: one big set is a denial-of-service lever, because its automaton has a state for
 * every combination of half-seen patterns. Neighbours in the pack (one family, one language) share prefixes and stay
 * together.
 */
export function makeShards(atoms: readonly AskedAtom[], compiler: RegexCompiler): readonly Shard[] {
  const groups = new Map<ScriptMask, AskedAtom[]>();
  for (const atom of atoms) {
    const script = rarestScript(atom.scripts);
    const group = groups.get(script);
    if (group) group.push(atom);
    else groups.set(script, [atom]);
  }
  return [...groups].flatMap(([script, group]) =>
    cut(group).map((part) => ({
      atoms: part,
      script,
      set: compiler.compileSet(part.map(({ relaxed }) => relaxed)),
    })),
  );
}

function cut(atoms: readonly AskedAtom[]): readonly (readonly AskedAtom[])[] {
  const parts: AskedAtom[][] = [];
  let characters = 0;
  for (const atom of atoms) {
    const last = parts.at(-1);
    characters += atom.relaxed.length;
    if (last && last.length < MAX_PATTERNS && characters <= MAX_CHARACTERS) last.push(atom);
    else {
      parts.push([atom]);
      characters = atom.relaxed.length;
    }
  }
  return parts;
}
