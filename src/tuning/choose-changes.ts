import { stringify } from 'yaml';
import type { OverlayChange, Paranoia, Rule } from '../engine/rules/types.js';
import { wilson } from '../evaluation/metrics/binomial.js';
import { type RuleEvidence, type RuleTexts, scoreLists, textsByRule } from './rule-figures.js';

/** One change of one rule, with what it brought on the texts it was chosen on. */
export interface RuleChange {
  readonly rule: string;
  readonly kind: 'promote' | 'demote' | 'raise' | 'lower' | 'off';
  readonly change: 'off' | OverlayChange;
  readonly before: { readonly status: Rule['status']; readonly score: number };
  /** Change in attacks found and in false positives, when it was chosen. */
  readonly attacks: number;
  readonly benign: number;
  /** Families of the texts that it turned. */
  readonly families: number;
}

export interface ChangeLimits {
  /** The largest false-positive rate on the texts, 0..1. */
  readonly maxFpr: number;
  /** The pack's level: rules above it don't run, and a promotion brings them down to it. */
  readonly paranoia: Paranoia;
  /** Families of false positives that a change must remove, or of attacks it must find; fewer may be chance. */
  readonly support: number;
  /** True: a rule that doesn't block alone never gets to. Its author meant a weak signal, and knows texts that the data lack. */
  readonly keepWeak: boolean;
}

/** Scores that a rule may get. */
const LEVELS = [0.2, 0.35, 0.45, 0.5, 0.65, 0.8, 0.9] as const;
/**
 * Of the families that a change newly blocks, more than this share must be attacks (Wilson's lower bound): 16 without a
 * single false positive. A handful of attacks says next to nothing of false positives on other texts.
 */
const SURE_PRECISION = 0.8;

interface Move {
  readonly rule: number;
  readonly score: number;
  readonly attacks: number;
  readonly benign: number;
  /** Families of the attacks found or lost, and of the false positives added or removed. */
  readonly attackFamilies: number;
  readonly benignFamilies: number;
}

/** A change that removes false positives rests on their families, one that finds attacks on those of the attacks. */
function isSupported(support: number) {
  return ({ attacks, benign, attackFamilies, benignFamilies }: Move): boolean => {
    if (benign < 0) return benignFamilies >= support;
    if (attacks <= 0 || attackFamilies < support) return false;
    return wilson(attackFamilies, attackFamilies + benignFamilies)[0] > SURE_PRECISION;
  };
}

/** The state of a choice: what the changes taken so far have made of the texts. */
interface Choice {
  readonly given: RuleTexts;
  readonly limits: ChangeLimits;
  /** By rule: the indices of its texts. */
  readonly places: readonly (readonly number[])[];
  /** Most false positives allowed. */
  readonly allowed: number;
  scores: readonly number[];
  readonly blocked: boolean[];
  falsePositives: number;
}

/**
 * Chooses changes one after the other: while the false positives are over the budget the one that removes the
 * most false positives for the fewest attacks lost; then the one that finds the most attacks per false positive within
 * the budget; and every change that removes false positives at no cost. Deterministic.
 */
export function chooseChanges(given: RuleTexts, limits: ChangeLimits): readonly RuleChange[] {
  const { rules, texts, threshold, scores } = given;
  const blocked = texts.map((text) => scoreLists(text, scores) >= threshold);
  const choice: Choice = {
    given,
    limits,
    places: textsByRule(rules.length, texts),
    allowed: Math.floor(limits.maxFpr * texts.filter(({ isAttack }) => !isAttack).length + 1e-9),
    scores,
    blocked,
    falsePositives: blocked.filter((isBlocked, i) => isBlocked && !(texts[i] as RuleEvidence).isAttack).length,
  };
  const moves = rules.map((_, rule) => listMoves(choice, rule));
  const taken = new Map<number, RuleChange>();
  for (let move = nextMove(choice, moves.flat()); move !== undefined; move = nextMove(choice, moves.flat())) {
    const rule = rules[move.rule] as Rule;
    const fired = (choice.places[move.rule] as readonly number[]).map((place) => texts[place] as RuleEvidence);
    taken.set(move.rule, described(rule, scores[move.rule] as number, move, limits.paranoia, fired));
    const touched = takeMove(choice, move);
    // A rule moves once: the effect of two moves of one rule could not be distinguished from chance.
    for (const other of touched) moves[other] = taken.has(other) ? [] : listMoves(choice, other);
  }
  return [...taken.values()];
}

function listMoves(choice: Choice, rule: number): readonly Move[] {
  const { given, limits, places, scores } = choice;
  const { threshold } = given;
  if ((places[rule] as readonly number[]).length === 0) return [];
  const own = (given.rules[rule] as Rule).score;
  return [0, own, threshold, ...LEVELS]
    .filter((score, i, all) => score !== scores[rule] && all.indexOf(score) === i)
    .filter((score) => score < threshold || !limits.keepWeak || own >= threshold)
    .map((score) => evaluateMove(choice, rule, score))
    .filter(isSupported(limits.support));
}

function evaluateMove({ given, places, scores, blocked }: Choice, rule: number, score: number): Move {
  const changed = scores.with(rule, score);
  let [attacks, benign] = [0, 0];
  const attackFamilies = new Set<number>();
  const benignFamilies = new Set<number>();
  for (const place of places[rule] as readonly number[]) {
    const text = given.texts[place] as RuleEvidence;
    const now = scoreLists(text, changed) >= given.threshold;
    if (now === blocked[place]) continue;
    (text.isAttack ? attackFamilies : benignFamilies).add(text.family);
    if (text.isAttack) attacks += now ? 1 : -1;
    else benign += now ? 1 : -1;
  }
  return { rule, score, attacks, benign, attackFamilies: attackFamilies.size, benignFamilies: benignFamilies.size };
}

/** The best of the open moves; undefined where none is worth it. */
function nextMove(
  { given: { rules }, scores, falsePositives, allowed }: Choice,
  open: readonly Move[],
): Move | undefined {
  const distance = ({ rule, score }: Move): number =>
    Math.abs(score - ((scores[rule] as number) || (rules[rule] as Rule).score));
  const best = (candidates: readonly Move[], worth: (move: Move) => number): Move | undefined =>
    [...candidates].sort((a, b) => worth(b) - worth(a) || distance(a) - distance(b) || a.rule - b.rule)[0];
  if (falsePositives > allowed)
    return best(
      open.filter(({ benign }) => benign < 0),
      ({ attacks, benign }) => -benign / (1 + Math.max(0, -attacks)),
    );
  const gains = open.filter(({ attacks, benign }) => attacks > 0 && falsePositives + benign <= allowed);
  const free = open.filter(({ attacks, benign }) => benign < 0 && attacks >= 0);
  return (
    best(free, ({ benign }) => -benign) ?? best(gains, ({ attacks, benign }) => attacks / (1 + Math.max(0, benign)))
  );
}

/** Applies a move; returns the rules that fire in a text it concerns. */
function takeMove(choice: Choice, { rule, score, benign }: Move): ReadonlySet<number> {
  const { given, places, blocked } = choice;
  choice.scores = choice.scores.with(rule, score);
  choice.falsePositives += benign;
  const touched = new Set<number>();
  for (const place of places[rule] as readonly number[]) {
    const text = given.texts[place] as RuleEvidence;
    blocked[place] = scoreLists(text, choice.scores) >= given.threshold;
    for (const other of text.rules) touched.add(other);
  }
  return touched;
}

function described(
  rule: Rule,
  counted: number,
  { score, attacks, benign, attackFamilies, benignFamilies }: Move,
  paranoia: Paranoia,
  fired: readonly RuleEvidence[],
): RuleChange {
  const before = { status: rule.status, score: rule.score };
  const brought = { rule: rule.id, before, attacks, benign, families: attackFamilies + benignFamilies };
  if (score === 0) {
    return fired.some(({ isAttack }) => isAttack)
      ? { ...brought, kind: 'demote', change: { status: 'experimental' } }
      : { ...brought, kind: 'off', change: 'off' };
  }
  const rescored = score === rule.score ? {} : { score };
  if (counted > 0) return { ...brought, kind: score > counted ? 'raise' : 'lower', change: rescored };
  const level = rule.paranoia > paranoia ? { paranoia } : {};
  const status = rule.status === 'experimental' ? { status: 'stable' as const } : {};
  return { ...brought, kind: 'promote', change: { ...rescored, ...level, ...status } };
}

/** The changes as an overlay file (YAML), each with what it brought on the texts it was chosen on. */
export function changesOverlay(changes: readonly RuleChange[], head: readonly string[] = []): string {
  const lines = [...changes]
    .sort((a, b) => (a.rule < b.rule ? -1 : 1))
    .flatMap(({ rule, kind, change, before, attacks, benign }) => [
      `  # ${kind}, was ${before.status} ${before.score}: attacks found ${signed(attacks)}, false positives ${signed(benign)}`,
      ...stringify({ [rule]: change })
        .trimEnd()
        .split('\n')
        .map((line) => `  ${line}`),
    ]);
  const comments = head.map((line) => `# ${line}\n`).join('');
  return `${comments}rules:${lines.length === 0 ? ' {}' : `\n${lines.join('\n')}`}\n`;
}

/** A whole number with its sign. */
export function signed(value: number): string {
  return `${value >= 0 ? '+' : ''}${value}`;
}
