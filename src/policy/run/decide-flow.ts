/** Decides on a call from what a run knows, so that it can be decided again. */
import { isGiven, sourceOf } from './entries.js';
import { type Flow, flowOf } from './flow.js';
import { type FlowGrounds, type FlowRuling, flowReason, ruleFlows, withoutTexts } from './flow-policy.js';
import type { RunState, Source } from './run-state.js';

/** The part of a run's state that the arguments of one call ask for. */
export interface AskedDigests {
  readonly seed: number;
  /** Given by the operator, the user or the model itself. */
  readonly trusted: readonly number[];
  readonly foreign: readonly (readonly [key: number, place: number])[];
  readonly suspicious: readonly (readonly [key: number, place: number])[];
  readonly sources: readonly (readonly [id: number, source: Source])[];
}

/** Ruling of a policy on the values in a call's arguments. Quotes none of them. */
export interface FlowDecision {
  readonly action: 'allow' | 'report' | 'ask' | 'deny';
  readonly rule: 'none' | 'flow.suspicious' | 'flow.foreign';
  /** One sentence; null for `none`. */
  readonly reason: string | null;
  /** At most 100. */
  readonly flows: readonly Flow[];
}

/** Rules on the values in a call's arguments. `asked` gets the digests that the state was asked for. */
export function ruleArguments(
  state: RunState,
  args: unknown,
  grounds: FlowGrounds,
  asked?: Set<number>,
): FlowRuling | undefined {
  return ruleFlows(flowOf(state, args, grounds.policy.trusted, asked), grounds);
}

/** Decides, and gives the digests that were asked for: the same arguments, grounds and digests are decided alike. */
export function decideFlow(
  state: RunState,
  args: unknown,
  grounds: FlowGrounds,
): FlowDecision & { readonly digests: AskedDigests } {
  const asked = new Set<number>();
  const ruling = ruleArguments(state, args, grounds, asked);
  const digests = askedDigests(state, asked);
  if (ruling === undefined) return { action: 'allow', rule: 'none', reason: null, flows: [], digests };
  const { action, rule } = ruling;
  return { action, rule, reason: flowReason(ruling), flows: withoutTexts(ruling.flows), digests };
}

/** The state of a run as far as a call asked for it. */
export function stateOf({ seed, trusted, foreign, suspicious, sources }: AskedDigests): RunState {
  return {
    seed,
    trusted: new Map(trusted.map((key) => [key, true])),
    own: new Map(),
    foreign: new Map(foreign),
    suspicious: new Map(suspicious),
    sources: new Map(sources),
    entries: new Map(),
    nextSource: 0,
  };
}

function askedDigests(state: RunState, asked: ReadonlySet<number>): AskedDigests {
  const placed = (places: ReadonlyMap<number, number>): (readonly [number, number])[] =>
    [...asked].flatMap((key) => {
      const place = places.get(key);
      return place === undefined ? [] : [[key, place] as const];
    });
  const foreign = placed(state.foreign);
  const suspicious = placed(state.suspicious);
  const ids = new Set([...foreign, ...suspicious].map(([, place]) => sourceOf(place)));
  const sources = [...ids].flatMap((id) => {
    const source = state.sources.get(id);
    return source === undefined ? [] : [[id, source] as const];
  });
  return {
    seed: state.seed,
    trusted: [...asked].filter((key) => isGiven(state, key)),
    foreign,
    suspicious,
    sources,
  };
}
