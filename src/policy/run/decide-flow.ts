/** Decides on a call from what a run knows, so that it can be decided again. */
import { sourceOf } from './entries.js';
import { type Flow, flowOf } from './flow.js';
import { type FlowGrounds, type FlowRuling, flowReason, ruleFlows, withoutTexts } from './flow-policy.js';
import { emptyRun, type RunState, type Source } from './run-state.js';

/** The part of a run's state that the arguments of one call ask for. */
export interface AskedDigests {
  readonly seed: number;
  /** Given by the operator or the user; in records of before 1.5 by the model itself, too. */
  readonly trusted: readonly number[];
  /** Brought in by the model itself, and whether by a call that does more than read; absent where there is none. */
  readonly own?: readonly (readonly [key: number, acts: boolean])[] | undefined;
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
export function stateOf({ seed, trusted, own = [], foreign, suspicious, sources }: AskedDigests): RunState {
  return {
    ...emptyRun(seed),
    trusted: new Map(trusted.map((key) => [key, true])),
    own: new Map(own),
    foreign: new Map(foreign),
    suspicious: new Map(suspicious),
    sources: new Map(sources),
  };
}

function askedDigests(state: RunState, asked: ReadonlySet<number>): AskedDigests {
  const among = <V>(known: ReadonlyMap<number, V>): (readonly [number, V])[] =>
    [...asked].flatMap((key) => {
      const value = known.get(key);
      return value === undefined ? [] : [[key, value] as const];
    });
  const own = among(state.own);
  const foreign = among(state.foreign);
  const suspicious = among(state.suspicious);
  const ids = new Set([...foreign, ...suspicious].map(([, place]) => sourceOf(place)));
  const sources = [...ids].flatMap((id) => {
    const source = state.sources.get(id);
    return source === undefined ? [] : [[id, source] as const];
  });
  return {
    seed: state.seed,
    trusted: [...asked].filter((key) => state.trusted.has(key)),
    ...(own.length > 0 && { own }),
    foreign,
    suspicious,
    sources,
  };
}
