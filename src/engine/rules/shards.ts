import type { PatternSet, RegexCompiler } from '../ports.js';
import type { Atom } from './atoms.js';
import { type ScriptMask, rarestScript } from './scripts.js';
import { viewBit } from './compiled-rule.js';
import type { Paranoia } from './types.js';

/** A set of atoms that are asked together, and when. */
export interface Shard {
  readonly atoms: readonly Atom[];
  /** `undefined`: ask the atoms one by one. */
  readonly set: PatternSet | undefined;
  readonly form: Atom['form'];
  /** The text must hold this family; 0: any text. */
  readonly script: ScriptMask;
  readonly tier: Paranoia;
  /** Views (bits) that some atom of it reads. */
  readonly views: number;
}

export interface ShardPlan {
  /** Patterns in one set, at most. */
  readonly patterns: number;
  /** Characters of source in one set, at most: what the automaton's size goes by. */
  readonly characters: number;
}

export const SHARD_PLAN: ShardPlan = { patterns: 160, characters: 24_000 };

/**
 * Cuts the atoms into sets of bounded size: one big set is a denial-of-service lever, because its automaton has a
 * state for every combination of half-seen patterns. Neighbours in the pack (one family, one language) share prefixes
 * and stay together.
 */
export function makeShards(atoms: readonly Atom[], compiler: RegexCompiler, plan: ShardPlan): readonly Shard[] {
  const groups = new Map<string, Atom[]>();
  for (const atom of atoms) {
    if (atom.uses.length === 0) continue;
    const key = [atom.form, rarestScript(atom.scripts), atom.tier, atom.views & viewBit('folded')].join(' ');
    const group = groups.get(key);
    if (group) group.push(atom);
    else groups.set(key, [atom]);
  }
  return [...groups.values()].flatMap((group) => cut(group, plan).map((part) => makeShard(part, compiler)));
}

function cut(atoms: readonly Atom[], plan: ShardPlan): readonly (readonly Atom[])[] {
  const parts: Atom[][] = [];
  let characters = 0;
  for (const atom of atoms) {
    const last = parts.at(-1);
    characters += atom.relaxed.length;
    if (last && last.length < plan.patterns && characters <= plan.characters) last.push(atom);
    else {
      parts.push([atom]);
      characters = atom.relaxed.length;
    }
  }
  return parts;
}

function makeShard(atoms: readonly Atom[], compiler: RegexCompiler): Shard {
  const first = atoms[0] as Atom;
  return {
    atoms,
    set: compiler.compileSet(atoms.map((atom) => atom.relaxed)),
    form: first.form,
    script: rarestScript(first.scripts),
    tier: first.tier,
    views: atoms.reduce((mask, atom) => mask | atom.views, 0),
  };
}
