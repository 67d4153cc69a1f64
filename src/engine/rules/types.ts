import type { Channel, ModelThresholds } from '../channel.js';
import type { Span } from '../span.js';
import type { View, ViewKind } from '../text/view.js';
import type { PreparedPatterns } from './pattern/compiled-pattern.js';

/** Harm that a finding does if it is true. */
export type Severity = 'low' | 'medium' | 'high' | 'critical';
/** False-positive budget of a deployment: 1 is the lowest, 3 the highest. A scan runs the rules up to its level. */
export type Paranoia = 1 | 2 | 3;
/** `experimental` rules run in shadow (their score counts 0); `deprecated` rules only reserve their id. */
export type RuleStatus = 'experimental' | 'stable' | 'deprecated';
/** The boundary that may not lie between two steps of a rule. */
export type Stop = 'sentence' | 'none';

/** One alternative fires the rule. */
export interface AnyMatch {
  readonly any: readonly string[];
}
/** The steps stand in this order, each at most `gap` characters (UTF-16 units of the view) after the one before. */
export interface SequenceMatch {
  readonly sequence: readonly (readonly string[])[];
  readonly gap?: number | undefined;
  readonly stop?: Stop | undefined;
}
/** The steps stand in any order inside `within` characters (UTF-16 units of the view). */
export interface AllMatch {
  readonly all: readonly (readonly string[])[];
  readonly within?: number | undefined;
  readonly stop?: Stop | undefined;
}
export type RuleMatch = AnyMatch | SequenceMatch | AllMatch;

export interface PositiveExample {
  readonly text: string;
  /** The exact original text of the finding's span. */
  readonly hit: string;
}
export interface NegativeExample {
  readonly text: string;
  readonly why: string;
}
export interface RuleExamples {
  readonly positive: readonly PositiveExample[];
  readonly negative: readonly NegativeExample[];
  /** Known misses: tests fail once the rule matches them. */
  readonly todo_positive: readonly PositiveExample[];
  /** Known false positives: tests fail once the rule no longer matches them. */
  readonly todo_negative: readonly NegativeExample[];
}

/** A rule as its author wrote it, defaults filled in. */
export interface Rule {
  readonly id: string;
  readonly version: string;
  readonly title: string;
  readonly description: string;
  readonly status: RuleStatus;
  readonly severity: Severity;
  readonly paranoia: Paranoia;
  /** Strength of one finding alone, 0..1. */
  readonly score: number;
  readonly languages: readonly string[];
  readonly tags: readonly string[];
  readonly views: readonly ViewKind[];
  /** Empty: every channel. */
  readonly channels: readonly Channel[];
  readonly match: RuleMatch;
  /** A finding wholly inside a match of one of these is dropped. */
  readonly except: readonly string[];
  readonly examples: RuleExamples;
  readonly falsePositives: readonly string[];
  readonly references: readonly string[];
}

/** Lists of RE2 fragments by name; `{{name}}` in a pattern stands for one of them. */
export type WordLists = Readonly<Record<string, readonly string[]>>;

/** Drops findings that lie wholly inside a match. Made from an overlay's allow-list by the loader. */
export interface Allowance {
  /** The text that is allowed, or a pattern. */
  readonly text?: string | undefined;
  readonly pattern?: string | undefined;
  /** A rule's id; absent: every rule. */
  readonly rule?: string | undefined;
}

/** The rules of one pack with the word lists they may use: its own and those of the packs below it. */
export interface PackLayer {
  readonly name: string;
  readonly version: string;
  readonly words: WordLists;
  readonly rules: readonly Rule[];
  /** Patterns that were made ready with these very word lists; the others are prepared when the pack is compiled. */
  readonly prepared?: PreparedPatterns | undefined;
}

/** The input of `compilePack`: one or several packs laid over each other, an overlay applied. Made by `stackPacks`. */
export interface Pack {
  readonly name: string;
  /** `<semver>+<first 12 hex digits of the content's sha256>`. */
  readonly rulesVersion: string;
  /** Rules block at or above this score, 0..1. */
  readonly threshold: number;
  /** Thresholds of the model that an overlay sets. */
  readonly modelThreshold?: ModelThresholds | undefined;
  /** The level a scan runs at when it is given none. */
  readonly paranoia: Paranoia;
  readonly layers: readonly PackLayer[];
  /** True when every pattern was compiled before (a bundle): patterns are then compiled when first used. */
  readonly isChecked: boolean;
  readonly allow: readonly Allowance[];
}

/** One match of a rule. */
export interface Finding {
  readonly rule: string;
  readonly severity: Severity;
  /** The rule's score, 0..1; 0 for an experimental rule. */
  readonly score: number;
  /** In the input, UTF-16 code units. */
  readonly span: Span;
  readonly view: ViewKind;
  readonly chain: readonly string[];
  /** The span in that view's text, UTF-16 code units. */
  readonly shown: Span;
}

/** Options of a scan. */
export interface ScanOptions {
  /** Rules above this level are left out. Default: the pack's. */
  readonly paranoia?: Paranoia | undefined;
  /** Rules limited to other channels are left out. Absent: rules of every channel run. */
  readonly channel?: Channel | undefined;
  /**
   * Continues after the score has reached its ceiling. Only `findings` grows; the score and `rule` stay the same.
   * Default false.
   */
  readonly exhaustive?: boolean | undefined;
}

/** The result of the rules for one input. */
export interface RulesSignal {
  /** 0..0.999, the best cluster's. */
  readonly score: number;
  /** The strongest rule of the best cluster; `undefined` when none fired. */
  readonly rule: string | undefined;
  /** Every rule of the best cluster, strongest first. */
  readonly cluster: readonly string[];
  /** By span start, then end, then rule id. At most 64 a rule; the score counts them all. */
  readonly findings: readonly Finding[];
  /** Findings of experimental rules, in the same order; they add nothing to the score. */
  readonly shadow: readonly Finding[];
}

/** A rule that nearly matched in a view. */
export interface NearMiss {
  readonly rule: string;
  readonly view: ViewKind;
  readonly chain: readonly string[];
  /** Steps that occur, counted from 1. */
  readonly steps: readonly number[];
  /** Number of steps of the rule. */
  readonly of: number;
  /** `apart`: all steps occur, but too far apart or with a stop between them. `excepted`: an exception held it back. */
  readonly why: 'missing steps' | 'apart' | 'excepted';
}

/** The changes of an overlay to one rule; fields that are left out stay. */
export interface OverlayChange {
  readonly score?: number | undefined;
  readonly paranoia?: Paranoia | undefined;
  /** `stable`: a rule in shadow counts from now on; `experimental`: it is watched and counts 0. A deprecated rule stays so. */
  readonly status?: 'stable' | 'experimental' | undefined;
}

/** The changes of an overlay to a compiled pack. Made by `overlayChange`. */
export interface PackChange {
  /** Of the pack with the change. */
  readonly rulesVersion: string;
  readonly threshold?: number | undefined;
  readonly modelThreshold?: ModelThresholds | undefined;
  readonly paranoia?: Paranoia | undefined;
  /** By rule id. */
  readonly rules: Readonly<Record<string, 'off' | OverlayChange>>;
  readonly allow: readonly Allowance[];
}

/** A pack in force, and how many rules of it run: deprecated ones and those that an overlay switched off don't. */
export interface PackInForce {
  readonly name: string;
  readonly version: string;
  readonly rules: number;
}

/** A pack ready to scan. Made by `compilePack`; reusable, never changes. */
export interface CompiledPack {
  readonly name: string;
  /** The packs it consists of, from the bottom up. */
  readonly packs: readonly PackInForce[];
  readonly rulesVersion: string;
  readonly threshold: number;
  /** Thresholds of the model that an overlay sets. */
  readonly modelThreshold?: ModelThresholds | undefined;
  readonly paranoia: Paranoia;
  readonly rules: readonly Rule[];
  /** Distinct patterns, and the literals that tell which of them to run. */
  readonly size: {
    readonly patterns: number;
    readonly literals: number;
  };
  /**
   * Compiles the patterns of packs loaded from folders, which otherwise compile on first use. Stops when `goOn`, called after each,
   * returns false. Returns true once all are compiled.
   */
  readonly warmUp: (goOn?: () => boolean) => boolean;
  /** Scans the views of one input. Synchronous; never throws because of what the text says. */
  readonly scan: (views: readonly View[], options: ScanOptions) => RulesSignal;
  /**
   * The same pack with an overlay's change, within milliseconds: the patterns and the prefilter are shared. Gives what `compilePack` would give for the whole stack. Rules that the pack doesn't have are passed over.
   *
   * @throws PackError for an allow-list pattern that can't be compiled
   */
  readonly withChange: (change: PackChange) => CompiledPack;
  /** Lists the rules that nearly matched, for rule authors; slower than `scan`. */
  readonly nearMisses: (views: readonly View[]) => readonly NearMiss[];
}
