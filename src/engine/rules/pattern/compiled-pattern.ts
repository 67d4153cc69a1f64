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
  /** Estimated frequency of its literals. */
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
 * Compiles a pattern when it is first used: only for patterns that are known to compile. One with a screen is matched by that
 * alone: where it finds something and the text has other characters beyond ASCII than letters and marks, once more with those masked.
 */
export function compileLazily(indexed: IndexedPattern, compiler: RegexCompiler, isScreened: boolean): Pattern {
  const { screen } = indexed;
  const compiled = once(() => compiler.compile(isScreened && screen !== undefined ? screen : indexed.source));
  if (screen === undefined || !isScreened) {
    return {
      occursIn: (subject, part) => compiled().occursIn(subject, part),
      findAll: (subject, max) => compiled().findAll(subject, max),
    };
  }
  return {
    occursIn(subject, part) {
      if (!compiled().occursIn(subject, part)) return false;
      const text = subject.text.slice(part.start, part.end);
      const masked = maskOthers(text);
      return masked === text || compiled().occursIn(compiler.prepare(masked), { start: 0, end: masked.length });
    },
    findAll(subject, max) {
      const found = compiled().findAll(subject, max);
      if (found.length === 0) return found;
      const masked = maskOthers(subject.text);
      return masked === subject.text ? found : compiled().findAll(compiler.prepare(masked), max);
    },
  };
}

/** The text with a noncharacter, which no screen takes for a letter, in place of what is neither ASCII nor a letter or mark. */
function maskOthers(text: string): string {
  return text.replace(/[^\0-\x7f\p{L}\p{M}]/gu, ({ length }) => (length === 1 ? '\uffff' : '\u{10ffff}'));
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
