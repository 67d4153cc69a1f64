import { mergeSpans, type Span } from '../../span.js';
import { type CompiledRule, measureSteps } from '../compiled-rule.js';
import type { CompiledPattern } from '../pattern/compiled-pattern.js';
import { findScripts, type ScriptMask } from '../pattern/scripts.js';
import {
  BOUNDARY_SLACK,
  type IndexedAlternative,
  type LiteralIndex,
  type NearbySet,
  type PackedLists,
  packLists,
  UNBOUNDED,
} from './literal-index.js';
import { createLiteralMatches, type LiteralMatches } from './literal-matches.js';

/** Characters of a part on either side of its segment: a match that starts in a segment and is as short as that lies inside its part. */
export const REACH = 256;

/** Whether an exception may be longer than `REACH`, so that it is sought in the whole text. */
export function isWide({ longest }: { readonly longest: number }): boolean {
  return longest > REACH;
}

/** A part of a text: a segment with some of the text around it. */
export interface TextPart {
  readonly text: string;
  /** Whether more text stands before and after it. */
  readonly isFirst: boolean;
  readonly isLast: boolean;
  /** Gives the text's UTF-16 code units. */
  readonly units: () => Uint16Array;
}

/** The rules that may match in a part. */
export interface Candidates {
  /** Rules that may match inside the part. */
  readonly inside: ReadonlySet<CompiledRule>;
  /** Rules that may match from the segment on with a step that starts in the next one. */
  readonly leaving: ReadonlySet<CompiledRule>;
  /** Rules longer than `REACH` that may match from the segment before, with literals that its part doesn't have. */
  readonly entering: ReadonlySet<CompiledRule>;
  /**
   * Lists where in the part a match of a trigger pattern can begin that makes a rule match inside the part, both ends included; ascending and
   * apart. The bounds may lie beyond the part.
   */
  readonly windows: (pattern: CompiledPattern) => readonly Span[];
  /** Lists where in the part a match of a pattern can begin at all, likewise. Only until the scan after the next one. */
  readonly starts: (pattern: CompiledPattern) => readonly Span[];
}

/**
 * Tells which rules may match a text without running their patterns: by the literals that the patterns require, and by
 * how far apart these can be. A rule is triggered by the step whose literals are least common.
 *
 * Safety guarantee: a rule that matches is always a candidate. `test/rules/fast-path.test.ts` proves it by comparing with
 * every pattern run alone.
 */
export interface Prefilter {
  readonly rules: readonly CompiledRule[];
  /** Distinct literals. */
  readonly literals: number;
  /** Scans the next part of a text. Linear in the part, whatever the number of rules. */
  scan(part: TextPart): Candidates;
  /** Tells where in a whole text matches of wide exceptions can begin, as `Candidates.starts` does; until it is called again. */
  scanExceptions(text: string): Candidates['starts'];
}

interface Trigger {
  readonly rule: CompiledRule;
  readonly pattern: CompiledPattern;
  readonly alternative: IndexedAlternative;
  /** The set that tells best where a match begins; undefined for the trigger's own. */
  readonly nearest: NearbySet | undefined;
  /** The other steps of the rule whose patterns all require literals. */
  readonly otherSteps: readonly OtherStep[];
  /** Most that the last step can start after the end of a trigger literal, and the first step end before it. */
  readonly lastStart: number;
  readonly firstEnd: number;
}

interface OtherStep {
  readonly patterns: readonly CompiledPattern[];
  /** Whether it comes before or after the trigger's step; `all` steps come in any order. */
  readonly place: 'before' | 'after' | 'anywhere';
  /** Most that the nearer edge of the step can be from the end of a trigger literal, UTF-16 code units. */
  readonly distance: number;
}

/** Occurrences of one trigger literal that are examined in one part; with more, the rule is a candidate anyway. */
const MAX_OCCURRENCES = 24;

export const EVERYWHERE: Span = { start: 0, end: Number.POSITIVE_INFINITY };
const NOWHERE: readonly Span[] = [];
const WHOLE_TEXT: Span = { start: Number.NEGATIVE_INFINITY, end: Number.POSITIVE_INFINITY };
const ALL_SCRIPTS: ScriptMask = -1;

/** Lets every rule and every pattern through: the plain path that the fast one is compared with. */
export function buildPlainPrefilter(rules: readonly CompiledRule[]): Prefilter {
  const all = new Set(rules);
  const everywhere = (): readonly Span[] => [EVERYWHERE];
  const candidates = { inside: all, leaving: all, entering: all, windows: everywhere, starts: everywhere };
  return { rules, literals: 0, scan: () => candidates, scanExceptions: () => everywhere };
}

/**
 * Builds the prefilter of some rules, whose patterns have their literals in the index. It keeps state between the parts of
 * a text, so it scans one text at a time; scans are synchronous.
 */
// Long: `scan` is the inner loop over triggers, with its state in closures: it runs for every segment of a text.
export function buildPrefilter(
  rules: readonly CompiledRule[],
  index: LiteralIndex,
  exceptIndex: LiteralIndex,
): Prefilter {
  const triggers = rules.flatMap(listTriggers);
  const bySet = listTriggersBySet(triggers, index.sets);
  const { first, items } = index.setsByLiteral;
  const isTrigger = (set: number): boolean => bySet.first[set] !== bySet.first[set + 1];
  let matches = createLiteralMatches(index, isTrigger);
  /** Of a text of several parts: the literals of the part before, which are still needed. */
  let before: LiteralMatches | undefined;
  const takeMatches = (isFirst: boolean): LiteralMatches => {
    if (!isFirst) [matches, before] = [before ?? createLiteralMatches(index, isTrigger), matches];
    return matches;
  };
  let exceptions: LiteralMatches | undefined;
  /** By trigger: a second set that must occur, checked before anything else of the trigger is touched. */
  const secondSets = Int32Array.from(triggers, secondSet);
  const unfiltered = listUnfiltered(rules);

  return {
    rules,
    literals: index.automaton.suffixes.length,
    scan({ text, isFirst, isLast, units }) {
      const own = takeMatches(isFirst);
      const { found, hasNonAscii } = own.scan(text);
      const scripts = hasNonAscii ? findScripts(text) : 0;
      const inside = new Set<CompiledRule>();
      const leaving = new Set<CompiledRule>();
      const entering = new Set<CompiledRule>();
      const windows = new Map<CompiledPattern, Span[]>();
      const isWhole = isFirst && isLast;
      /** Whether the last step of a rule can start in the next segment, given the end of a trigger literal. */
      const crosses = ({ lastStart }: Trigger, end: number): boolean => end + lastStart > text.length - REACH - 2;
      const seen: Span = {
        start: isFirst ? Number.NEGATIVE_INFINITY : 0,
        end: isLast ? Number.POSITIVE_INFINITY : text.length,
      };
      const findCrossing = (trigger: Trigger, literal: number): void => {
        const { rule, firstEnd } = trigger;
        const count = own.count(literal);
        for (let i = 0; i < count; i++) {
          const end = own.end(literal, i);
          const isLeaving = !isLast && crosses(trigger, end);
          const isEntering = !isFirst && end - firstEnd < 2 * REACH + 2;
          if (!isLeaving && !isEntering) continue;
          if (count <= MAX_OCCURRENCES && !isSurrounded(own, trigger, end, ALL_SCRIPTS, seen)) continue;
          if (isLeaving) leaving.add(rule);
          if (isEntering) entering.add(rule);
        }
      };
      const visit = (trigger: Trigger, hasSecond: boolean, literal: number): void => {
        if (!allOccur(own, trigger, scripts)) return;
        const { rule, pattern } = trigger;
        const found = hasSecond ? findWindows(own, trigger, literal, scripts) : NOWHERE;
        const isInside = found.length > 0;
        if (isInside) {
          inside.add(rule);
          const known = windows.get(pattern);
          if (known) known.push(...found);
          else windows.set(pattern, [...found]);
        }
        // A rule of one step matches inside the part or not at all. Steps are found in the part of the segment where they start.
        if (isWhole || rule.steps.length === 1) return;
        if (rule.maxSpan > REACH) findCrossing(trigger, literal);
        else if (isInside && !isLast && crosses(trigger, own.end(literal, own.count(literal) - 1))) leaving.add(rule);
      };
      for (const literal of found) {
        const lastSlot = first[literal + 1] as number;
        for (let slot = first[literal] as number; slot < lastSlot; slot++) {
          const set = items[slot] as number;
          const end = bySet.first[set + 1] as number;
          for (let at = bySet.first[set] as number; at < end; at++) {
            const number = bySet.items[at] as number;
            const hasSecond = own.occurs(secondSets[number] as number);
            if (hasSecond || !isWhole) visit(triggers[number] as Trigger, hasSecond, literal);
          }
        }
      }
      for (const [{ pattern, scripts: needed }, triggered] of unfiltered) {
        if ((needed & ~scripts) !== 0 || !pattern.beginsIn(units(), EVERYWHERE)) continue;
        for (const rule of triggered) {
          inside.add(rule);
          leaving.add(rule);
          entering.add(rule);
        }
      }
      return {
        inside,
        leaving,
        entering,
        windows: (pattern) =>
          pattern.alternatives.length === 0 ? [EVERYWHERE] : mergeSpans(windows.get(pattern) ?? NOWHERE),
        starts: (pattern) => findStarts(own, pattern, text.length),
      };
    },
    scanExceptions(text) {
      exceptions ??= createLiteralMatches(exceptIndex, () => false);
      const own = exceptions;
      own.scan(text);
      return (pattern) => findStarts(own, pattern, text.length);
    },
  };
}

function listTriggers(rule: CompiledRule): readonly Trigger[] {
  const own = rule.order[0] ?? 0;
  return (rule.steps[own] ?? []).flatMap((pattern) =>
    pattern.alternatives.map((alternative) => {
      const others = rule.order.slice(1).map((step) => placeStep(rule, step, own, alternative));
      const reach = (place: OtherStep['place']): number =>
        Math.max(0, ...others.map((other) => (other.place === place ? 0 : other.distance)));
      return {
        rule,
        pattern,
        alternative,
        nearest: nearestSet(alternative),
        otherSteps: others.filter(({ patterns }) => patterns.every(({ alternatives }) => alternatives.length > 0)),
        lastStart: reach('before'),
        firstEnd: reach('after'),
      };
    }),
  );
}

function nearestSet({ before, nearby }: IndexedAlternative): NearbySet | undefined {
  let nearest: NearbySet | undefined;
  for (const set of nearby) if (set.before < (nearest?.before ?? before)) nearest = set;
  return nearest;
}

/** Places a step relative to a literal of the rule's own step. */
function placeStep({ shape, steps }: CompiledRule, step: number, own: number, literal: IndexedAlternative): OtherStep {
  const patterns = steps[step] as readonly CompiledPattern[];
  if (shape.kind !== 'sequence') {
    return { patterns, place: 'anywhere', distance: shape.kind === 'all' ? shape.within + BOUNDARY_SLACK : 0 };
  }
  const isLater = step > own;
  const between = steps.slice(Math.min(step, own) + 1, Math.max(step, own));
  return {
    patterns,
    place: isLater ? 'after' : 'before',
    distance: (isLater ? literal.after : literal.before) + shape.gap + measureSteps(between, shape.gap),
  };
}

function listTriggersBySet(triggers: readonly Trigger[], sets: number): PackedLists {
  const bySet: number[][] = Array.from({ length: sets }, () => []);
  triggers.forEach(({ alternative }, number) => {
    bySet[alternative.trigger]?.push(number);
  });
  return packLists(bySet);
}

/** A set besides the trigger's that must occur: another one of its alternative, or of a step with a single alternative. */
function secondSet({ alternative, otherSteps }: Trigger): number {
  const single = otherSteps.find(({ patterns }) => patterns.length === 1 && patterns[0]?.alternatives.length === 1);
  return alternative.nearby[0]?.set ?? single?.patterns[0]?.alternatives[0]?.trigger ?? alternative.trigger;
}

function allOccurIn(matches: LiteralMatches, { trigger, nearby }: IndexedAlternative): boolean {
  if (!matches.occurs(trigger)) return false;
  for (let i = 0; i < nearby.length; i++) if (!matches.occurs(nearby[i]?.set as number)) return false;
  return true;
}

/** True when all that the alternative of a trigger requires occurs in the part, near or far. */
function allOccur(matches: LiteralMatches, trigger: Trigger, scripts: ScriptMask): boolean {
  return (trigger.pattern.scripts & ~scripts) === 0 && allOccurIn(matches, trigger.alternative);
}

/**
 * Lists where a match of a triggered pattern can begin, given the occurrences of one literal of its trigger set; nowhere when what the
 * rule requires is not near any of them.
 */
function findWindows(matches: LiteralMatches, trigger: Trigger, literal: number, scripts: ScriptMask): readonly Span[] {
  const occurs = ({ patterns }: OtherStep): boolean =>
    patterns.some(({ alternatives }) => alternatives.some((one) => allOccurIn(matches, one)));
  const { alternative, nearest, otherSteps } = trigger;
  if (!otherSteps.every(occurs)) return NOWHERE;
  const { before } = alternative;
  const count = matches.count(literal);
  if (count > MAX_OCCURRENCES) {
    return [{ start: matches.end(literal, 0) - before, end: matches.end(literal, count - 1) }];
  }
  const windows: Span[] = [];
  for (let i = 0; i < count; i++) {
    const end = matches.end(literal, i);
    if (!isSurrounded(matches, trigger, end, scripts, WHOLE_TEXT)) continue;
    if (nearest) {
      for (const at of matches.listEnds(nearest.set, end + nearest.minOffset, end + nearest.maxOffset)) {
        windows.push({ start: at - nearest.before, end: at });
      }
    } else windows.push({ start: end - before, end });
  }
  return windows;
}

/** Lists where a match of a pattern can begin in a text of that length; ascending and apart. */
function findStarts(matches: LiteralMatches, { alternatives }: CompiledPattern, length: number): readonly Span[] {
  if (alternatives.length === 0) return [EVERYWHERE];
  return mergeSpans(alternatives.flatMap((one) => findStartsOf(matches, one, length)));
}

/** Characters for each occurrence, at least: where they are denser, it is cheaper to seek in all that lies between them. */
const SPARSE = 64;

/** By the set that tells best where a match begins: near each of its occurrences that has the trigger, or what goes with the trigger, near it. */
function findStartsOf(matches: LiteralMatches, alternative: IndexedAlternative, length: number): readonly Span[] {
  if (!allOccurIn(matches, alternative)) return NOWHERE;
  const { trigger } = alternative;
  const nearest = nearestSet(alternative);
  const { set, before } = nearest ?? { set: trigger, before: alternative.before };
  const { count, first, last } = matches.extent(set);
  if (before === UNBOUNDED || SPARSE * count > length) return [{ start: first - before, end: last }];
  const isPossible = (end: number): boolean =>
    nearest
      ? matches.endsBetween(trigger, end - nearest.maxOffset, end - nearest.minOffset)
      : hasNearby(matches, alternative, end);
  return matches
    .listEnds(set, first, last)
    .filter(isPossible)
    .map((end) => ({ start: end - before, end }));
}

/** True when the other literals of an alternative are where they can be, given the end of a trigger literal. */
function hasNearby(matches: LiteralMatches, { nearby }: IndexedAlternative, end: number): boolean {
  for (const { set, minOffset, maxOffset } of nearby)
    if (!matches.endsBetween(set, end + minOffset, end + maxOffset)) return false;
  return true;
}

/**
 * True when all that a rule requires is where it can be, given the end of a trigger literal: the other literals of the trigger
 * and, of each other step, those of one alternative. Outside of `seen` is text that may have any literal of another step.
 */
function isSurrounded(
  matches: LiteralMatches,
  { rule, alternative, otherSteps }: Trigger,
  end: number,
  scripts: ScriptMask,
  seen: Span,
): boolean {
  return (
    hasNearby(matches, alternative, end) &&
    otherSteps.every((step) => isNear(matches, step, scripts, end, rule.maxSpan, seen))
  );
}

function isNear(
  matches: LiteralMatches,
  { patterns, place, distance }: OtherStep,
  scripts: ScriptMask,
  end: number,
  maxSpan: number,
  seen: Span,
): boolean {
  const from = place === 'after' ? end - BOUNDARY_SLACK : end - maxSpan;
  const to = place === 'before' ? end + BOUNDARY_SLACK : end + maxSpan;
  const mayEnd = (set: number, low: number, high: number): boolean =>
    low < seen.start || high > seen.end || matches.endsBetween(set, low, high);
  return patterns.some(
    (pattern) =>
      (pattern.scripts & ~scripts) === 0 &&
      pattern.alternatives.some(
        ({ trigger, before, after, nearby }) =>
          mayEnd(
            trigger,
            place === 'before' ? end - distance - after : from,
            place === 'after' ? end + distance + before : to,
          ) && nearby.every(({ set }) => mayEnd(set, from, to)),
      ),
  );
}

function listUnfiltered(rules: readonly CompiledRule[]): ReadonlyMap<CompiledPattern, readonly CompiledRule[]> {
  const triggered = new Map<CompiledPattern, CompiledRule[]>();
  for (const rule of rules) {
    for (const pattern of rule.steps[rule.order[0] ?? 0] ?? []) {
      if (pattern.alternatives.length > 0) continue;
      const known = triggered.get(pattern);
      if (known) known.push(rule);
      else triggered.set(pattern, [rule]);
    }
  }
  return triggered;
}
