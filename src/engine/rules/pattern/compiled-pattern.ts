import type { Pattern } from '../matcher/pattern.js';
import type { Programs } from '../matcher/programs.js';
import type { IndexedAlternative, LiteralIndex } from '../prefilter/literal-index.js';
import type { ScriptMask } from './scripts.js';

/** A pattern whose required literals are numbered in an index. */
export interface IndexedPattern {
  /** Gives the address of its program, which is written then, unless it comes from a bundle. @throws PatternError */
  readonly program: () => number;
  /** Longest match in UTF-16 code units; may be infinite. */
  readonly longest: number;
  /** Script families that every match holds. */
  readonly scripts: ScriptMask;
  /** Estimated frequency of its literals. */
  readonly frequency: number;
  /** Its required literals; empty for none, and for exceptions that aren't wide. */
  readonly alternatives: readonly IndexedAlternative[];
}

/** Rules that share an index: the few that read the raw view, alone or with others, and the many that don't. */
export type RuleGroupName = 'raw' | 'folded';

export const RULE_GROUPS: readonly RuleGroupName[] = ['raw', 'folded'];

/** The patterns of some rules, ready to scan with: what a pack bundle holds. */
export interface PreparedPatterns extends Readonly<Record<RuleGroupName, PreparedGroup>> {
  readonly programs: Programs;
}

/** A rule's patterns as written; undefined for one with a mistake. */
export interface RulePatterns {
  readonly steps: readonly (readonly (IndexedPattern | undefined)[])[];
  readonly except: readonly (IndexedPattern | undefined)[];
}

export interface PreparedGroup {
  /** By the rule's id, without deprecated rules, which never run. Sources that mean the same share a pattern. */
  readonly patterns: ReadonlyMap<string, RulePatterns>;
  /** The literals of the patterns of steps. */
  readonly index: LiteralIndex;
  /** The literals of wide exceptions. They are sought only where a rule fires. */
  readonly exceptIndex: LiteralIndex;
}

/** One distinct pattern of a pack, shared by every rule step that uses it. */
export interface CompiledPattern extends Omit<IndexedPattern, 'program'> {
  readonly pattern: Pattern;
}
