import type { Known } from '../../engine/options.js';
import type { Verdict } from '../../engine/verdict.js';
import type { Screened } from '../screener.js';
import type { KnownEffect } from './effects.js';
import type { Flow, FoundFlow } from './flow.js';
import type { Judgement } from './judge.js';
import type { Origin } from './run-state.js';
import { argumentPath, UNNAMED } from './tool-name.js';
import type { AcceptedValue, ToolPolicy } from './tool-policy.js';

/** Action for a call that carries a value from untrusted data. */
export interface FlowPolicy {
  /** A value or four words in a row from a suspicious passage, in a call that writes, sends or executes. Default `deny`. */
  readonly suspicious: 'deny' | 'ask' | 'report';
  /**
   * An address-like value from any untrusted data in a call that sends; in one that writes or executes a URL, a host, or a value
   * in an argument that says who gets it, such as `attendees`. Default `report`.
   */
  readonly foreign: 'report' | 'ask' | 'deny';
  /**
   * Score at which an allowed result is suspicious, 0..1, at whatever operating point; where the rules alone decided, the share of
   * their threshold. Default: three quarters of the threshold of the operating point for the channel, and half of the rules' threshold.
   */
  readonly suspicionAt?: number | undefined;
  /** Tools whose results, and domains whose addresses, are trusted as the user's words are. */
  readonly trusted: readonly string[];
}

/** The actions of a policy by level. */
export type FlowActions = Pick<FlowPolicy, 'suspicious' | 'foreign'>;

/** Shorter texts are suspicious as a whole. */
export const LONG_TEXT = 2_000;

const SEVERITY = ['report', 'ask', 'deny'] as const;

export const DEFAULT_FLOW_POLICY: FlowPolicy = {
  suspicious: 'deny',
  foreign: 'report',
  trusted: [],
};

const FLOW_POLICY: Known<FlowPolicy> = { suspicious: true, foreign: true, suspicionAt: true, trusted: true };

/** @throws TypeError for an action or member that does not exist; RangeError for a threshold out of range */
export function checkFlowPolicy(policy: FlowPolicy): void {
  for (const [name, value] of Object.entries(policy)) {
    if (!Object.hasOwn(FLOW_POLICY, name))
      throw new TypeError(`flow has no ${name}: there are ${Object.keys(FLOW_POLICY).join(', ')}`);
    if ((name === 'suspicious' || name === 'foreign') && !SEVERITY.includes(value))
      throw new TypeError(`${String(value)} is not an action for flow.${name}; choose one of ${SEVERITY.join(', ')}`);
  }
  const { suspicionAt = 0, trusted } = policy;
  if (typeof suspicionAt !== 'number' || !(suspicionAt >= 0 && suspicionAt <= 1))
    throw new RangeError('flow.suspicionAt must be a number from 0 to 1');
  if (!Array.isArray(trusted) || !trusted.every((name) => typeof name === 'string'))
    throw new TypeError('flow.trusted is a list of tools and domains');
}

/** Ruling of a policy on the flows into a call; undefined if there is none. */
export interface FlowRuling {
  readonly action: 'deny' | 'ask' | 'report';
  readonly rule: 'flow.suspicious' | 'flow.foreign';
  /** All that the policy does more than report, those of the rule's level first; where it only reports, all. */
  readonly flows: readonly FoundFlow[];
}

/** Answers of a judge and a person to a call. */
export interface FlowAnswers {
  /** Of the judge, where one was asked. */
  readonly judgement?: Judgement | undefined;
  /** Whether a person permitted the call, where one was asked; false also where nobody answered, or the values are too many to be shown. */
  readonly answer?: boolean | undefined;
}

/** Action for a call that a policy rules on, once the judge and the person were asked. `ask`: the host asks. */
export function settleFlow(action: FlowRuling['action'], { judgement, answer }: FlowAnswers): FlowRuling['action'] {
  if (judgement !== undefined && 'serves' in judgement && judgement.serves) return 'report';
  if (action !== 'ask' || answer === undefined) return action;
  return answer ? 'report' : 'deny';
}

/** Everything beside the values that a ruling depends on. */
export interface FlowGrounds extends Pick<ToolPolicy, 'to' | 'accepts'> {
  readonly effect: KnownEffect;
  readonly policy: FlowPolicy;
}

/** Arguments that say who gets what a tool writes, as in `event.attendees[0].email`. */
const RECEIVER =
  /(?:^|[._\]])(?:to|cc|bcc|attendees?|guests?|invitees?|participants?|recipients?|collaborators?)(?=$|[.[_ ])/i;

/** Applies a policy, and what it says of the tool. */
export function ruleFlows(
  flows: readonly FoundFlow[],
  { effect: { effect }, policy, to, accepts }: Omit<FlowGrounds, 'policy'> & { readonly policy: FlowActions },
): FlowRuling | undefined {
  if (effect === 'read') return undefined;
  const leadsOut = ({ argument, kind }: FoundFlow): boolean =>
    effect === 'send'
      ? to === undefined || argument.includes(UNNAMED) || isInOne(argument, to)
      : kind === 'url' || kind === 'host' || (kind !== 'words' && RECEIVER.test(argument));
  const counted = flows.filter((flow) => (flow.level === 'suspicious' || leadsOut(flow)) && !isAccepted(flow, accepts));
  const levels = (['suspicious', 'foreign'] as const).filter((level) => counted.some((flow) => flow.level === level));
  const [level] = levels.sort((a, b) => SEVERITY.indexOf(policy[b]) - SEVERITY.indexOf(policy[a]));
  if (level === undefined) return undefined;
  const action = policy[level];
  // Who permits the call permits them all.
  const ruled = counted.filter((flow) => action === 'report' || policy[flow.level] !== 'report');
  const [first, others] = [ruled.filter((flow) => flow.level === level), ruled.filter((flow) => flow.level !== level)];
  return { action, rule: `flow.${level}`, flows: [...first, ...others] };
}

function isAccepted({ argument, kind, level, source }: Flow, accepts: readonly AcceptedValue[] = []): boolean {
  const path = argumentPath(argument);
  return accepts.some(
    (each) =>
      each.from === source.tool && each.argument === path && each.kind === kind && (each.level ?? 'foreign') === level,
  );
}

function isInOne(argument: string, names: readonly string[]): boolean {
  const paths = argument.split(' and ');
  return names.some((name) =>
    paths.some((path) => path.startsWith(name) && /^(?:$|[.[])/.test(path.slice(name.length))),
  );
}

/** One sentence on where a value comes from. Quotes neither the value nor a name that could be screened text. */
export function flowReason({ flows }: FlowRuling): string {
  const [flow, ...others] = flows;
  if (flow === undefined) return 'A value comes from untrusted data.';
  const { argument, kind, source } = flow;
  const carried = kind === 'words' ? 'words' : `a value (${kind})`;
  const more = others.length === 0 ? '' : ` The call carries ${others.length} more.`;
  return `The argument ${argument} carries ${carried} from ${whereFrom(source)}; the user never gave it.${more}`;
}

export function whereFrom({ tool, evidenceId, probability, span }: Origin): string {
  const where = tool !== undefined && /^[\w.:/-]{1,64}$/.test(tool) ? `the result of ${tool}` : 'a document or result';
  const proof = evidenceId === undefined ? '' : ` (${evidenceId})`;
  const score = probability === undefined ? '' : `, probability ${probability.toFixed(2)}`;
  return `${where}${proof}, characters ${span.start} to ${span.end}${score}`;
}

/** Whether a verdict that allows a text still leaves a doubt. A blocked text that a policy lets pass does. */
export function isSuspicious({ verdict }: Pick<Screened, 'verdict'>, policy: FlowPolicy): boolean {
  return verdict.verdict !== 'allow' || (verdict.score > 0 && verdict.score >= suspicionOf(verdict, policy));
}

/** Shares of the thresholds at which an allowed text is suspicious: bench/record/runs.md says why. */
const SHARE = { model: 0.75, rules: 0.5 };

/** The score at which a text like that of a verdict is suspicious. */
export function suspicionOf({ decided_by, threshold }: Verdict, { suspicionAt }: FlowPolicy): number {
  if (decided_by !== 'ml') return (suspicionAt ?? SHARE.rules) * threshold;
  // Three quarters of 0.8 are a little more than 0.6 in floating point.
  return suspicionAt ?? SHARE.model * threshold - Number.EPSILON;
}

/** Flows of one call that are told: more say no more, and add up in events and evidence. */
const MAX_TOLD = 100;

/** The first 100 flows without the texts, as events, enforcements and evidence tell them. */
export function withoutTexts(flows: readonly FoundFlow[]): readonly Flow[] {
  return flows.slice(0, MAX_TOLD).map(({ text: _, ...flow }) => flow);
}
