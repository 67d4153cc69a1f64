import type { RegexCompiler, Subject } from '../../ports.js';
import type { Span } from '../../span.js';
import type { CompiledRule } from '../compiled-rule.js';
import type { AskedAtom, Atom } from '../pattern/atoms.js';
import { scriptsIn } from '../pattern/scripts.js';
import { buildLiteralGate, type GateReading, type PartPlace } from './literal-gate.js';
import { type RuleAlarm, ruleAlarm } from './rule-alarm.js';
import { makeShards, type Shard } from './shards.js';

/** Narrows a group of rules down to those that may fire, without running their patterns. */
export interface RuleFinder {
  /** What it was built of. */
  readonly size: { readonly literals: number; readonly sets: number };
  /** `subject` makes the text ready for patterns; it is called only when a pattern set must be asked. */
  read(text: string, place: PartPlace, subject: () => Subject): GateReading;
  /** See `LiteralGate.mayMatch`. */
  mayMatch(atom: Atom, since: GateReading): boolean;
  /** See `LiteralGate.windowOf`. */
  windowOf(atom: Atom, part: GateReading): Span | undefined;
}

const EVERYWHERE: Span = { start: 0, end: Number.POSITIVE_INFINITY };

/** Lets every rule and every pattern through: the plain path that the fast one is proved against. */
export function buildPlainFinder(rules: readonly CompiledRule[]): RuleFinder {
  return {
    size: { literals: 0, sets: 0 },
    read: () => ({ near: rules, late: rules, early: rules, generation: 0, isWhole: false }),
    mayMatch: () => true,
    windowOf: () => EVERYWHERE,
  };
}

/** Builds the finder of rules that read the same views at the same level. */
export function buildRuleFinder(rules: readonly CompiledRule[], compiler: RegexCompiler): RuleFinder {
  const alarmed = rules.map((rule) => ({ rule, alarm: ruleAlarm(rule) }));
  const gate = buildLiteralGate(alarmed);
  const wakes = wakesByAtom(alarmed);
  const shards = makeShards([...wakes.keys()], compiler);
  return {
    size: { literals: gate.literals, sets: shards.length },
    mayMatch: gate.mayMatch,
    windowOf: gate.windowOf,
    read(text, place, subject) {
      const reading = gate.read(text, place);
      const asked = askShards(shards, text, subject).flatMap((atom) => wakes.get(atom) ?? []);
      if (asked.length === 0) return reading;
      const add = (known: readonly CompiledRule[]): readonly CompiledRule[] => [...new Set([...known, ...asked])];
      return { ...reading, near: add(reading.near), late: add(reading.late), early: add(reading.early) };
    },
  };
}

/** The atoms of the sets that occur in a text; all of a set that ran out of memory, as their patterns decide then. */
function askShards(shards: readonly Shard[], text: string, subject: () => Subject): readonly AskedAtom[] {
  const found: AskedAtom[] = [];
  let scripts = -1;
  for (const { atoms, script, set } of shards) {
    if (script !== 0) {
      if (scripts < 0) scripts = scriptsIn(text);
      if ((scripts & script) === 0) continue;
    }
    const matched = set.match(subject());
    if (matched === undefined) found.push(...atoms);
    else for (const index of matched) found.push(atoms[index] as AskedAtom);
  }
  return found;
}

function wakesByAtom(
  alarmed: readonly { readonly rule: CompiledRule; readonly alarm: RuleAlarm }[],
): ReadonlyMap<AskedAtom, readonly CompiledRule[]> {
  const wakes = new Map<AskedAtom, CompiledRule[]>();
  for (const { rule, alarm } of alarmed) {
    for (const atom of alarm.asked) {
      const woken = wakes.get(atom);
      if (woken) woken.push(rule);
      else wakes.set(atom, [rule]);
    }
  }
  return wakes;
}
