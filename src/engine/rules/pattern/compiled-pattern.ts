import type { Pattern, RegexCompiler } from '../../ports.js';
import type { IndexedAlternative, LiteralIndex } from '../prefilter/literal-index.js';
import type { ScriptMask } from './scripts.js';

/** A pattern whose required literals are numbered in an index. */
export interface IndexedPattern {
  /** RE2 source. */
  readonly source: string;
  /** See `PreparedPattern.relaxed`: for pattern sets; of a pattern without `alternatives`, and of no other. */
  readonly relaxed?: string | undefined;
  /** See `PreparedPattern.screen`. */
  readonly screen?: string | undefined;
  /** Longest match in UTF-16 code units; may be infinite. */
  readonly longest: number;
  /** Script families that every match holds. */
  readonly scripts: ScriptMask;
  /** How common its literals are likely to be. */
  readonly frequency: number;
  /** Its required literals; empty for none. */
  readonly alternatives: readonly IndexedAlternative[];
}

/** Rules that share an index: the few that read the raw view, alone or with others, and the many that don't. */
export type RuleGroupName = 'raw' | 'folded';

export const RULE_GROUPS: readonly RuleGroupName[] = ['raw', 'folded'];

/** The patterns of some rules, ready to scan with: what a pack bundle holds. */
export type PreparedPatterns = Readonly<Record<RuleGroupName, PreparedGroup>>;

export interface PreparedGroup {
  /** By `patternKey`. Sources that mean the same share a pattern. */
  readonly patterns: ReadonlyMap<string, IndexedPattern>;
  readonly index: LiteralIndex;
}

/** One distinct pattern of a pack, shared by every rule step that uses it. */
export interface CompiledPattern extends Omit<IndexedPattern, 'source' | 'screen'> {
  readonly pattern: Pattern;
}

/** A pattern without required literals: pattern sets match it against every text. */
export type UnfilteredPattern = CompiledPattern & { readonly relaxed: string };

export function isUnfiltered(pattern: CompiledPattern): pattern is UnfilteredPattern {
  return pattern.relaxed !== undefined;
}

/**
 * Compiles a pattern when it is first used: only for patterns that are known to compile. One with a screen is compiled itself only
 * where the screen matches a text with other characters beyond ASCII than letters.
 */
export function compileLazily(indexed: IndexedPattern, compiler: RegexCompiler, isScreened: boolean): Pattern {
  const exact = once(() => compiler.compile(indexed.source));
  const { screen } = indexed;
  if (screen === undefined || !isScreened) {
    return {
      occursIn: (subject, part) => exact().occursIn(subject, part),
      findAll: (subject, max) => exact().findAll(subject, max),
    };
  }
  const screening = once(() => compiler.compile(screen));
  return {
    occursIn: (subject, part) =>
      screening().occursIn(subject, part) &&
      (isOfLetters(subject.text.slice(part.start, part.end)) || exact().occursIn(subject, part)),
    findAll(subject, max) {
      const found = screening().findAll(subject, max);
      return found.length === 0 || isOfLetters(subject.text) ? found : exact().findAll(subject, max);
    },
  };
}

/** True where a screen finds what the exact pattern finds: all characters beyond ASCII are letters. */
function isOfLetters(text: string): boolean {
  return !/[^\0-\x7f\p{L}]/u.test(text);
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
