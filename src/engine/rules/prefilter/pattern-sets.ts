import type { PatternSet, RegexCompiler } from '../../ports.js';
import type { UnfilteredPattern } from '../pattern/compiled-pattern.js';
import { rarestScript, type ScriptMask } from '../pattern/scripts.js';

/** Patterns that are matched together in one pass. */
export interface PatternShard {
  readonly patterns: readonly UnfilteredPattern[];
  readonly set: PatternSet;
  /** Only texts in this script family are matched; 0: all texts are. */
  readonly script: ScriptMask;
}

/** Patterns in one set, at most. */
const MAX_PATTERNS = 64;
/** Characters of source in one set, at most: the automaton grows with them. */
const MAX_CHARACTERS = 12_000;

/**
 * Shards patterns into sets of bounded size: one big set is a denial-of-service lever, because its automaton has a state for
 * every combination of partly matched patterns. Neighbours in the pack (one family, one language) share prefixes and stay
 * together.
 */
export function buildPatternSets(
  patterns: readonly UnfilteredPattern[],
  compiler: RegexCompiler,
): readonly PatternShard[] {
  const groups = new Map<ScriptMask, UnfilteredPattern[]>();
  for (const pattern of patterns) {
    const script = rarestScript(pattern.scripts);
    const group = groups.get(script);
    if (group) group.push(pattern);
    else groups.set(script, [pattern]);
  }
  return [...groups].flatMap(([script, group]) =>
    cut(group).map((part) => ({
      patterns: part,
      script,
      set: compiler.compileSet(part.map(({ relaxed }) => relaxed)),
    })),
  );
}

function cut(patterns: readonly UnfilteredPattern[]): readonly (readonly UnfilteredPattern[])[] {
  const parts: UnfilteredPattern[][] = [];
  let characters = 0;
  for (const pattern of patterns) {
    const last = parts.at(-1);
    characters += pattern.relaxed.length;
    if (last && last.length < MAX_PATTERNS && characters <= MAX_CHARACTERS) last.push(pattern);
    else {
      parts.push([pattern]);
      characters = pattern.relaxed.length;
    }
  }
  return parts;
}
