/** Rules on a call of a run. Loaded by the first of them: it needs the engine's readings of texts. */
import { cropTask, inputText } from '../../engine/input.js';
import type { Input } from '../../index.js';
import { askPerson, type FlowQuestion, type OnAsk } from './ask.js';
import type { Effects, KnownEffect } from './effects.js';
import { flowOf } from './flow.js';
import { type FlowPolicy, type FlowRuling, ruleFlows } from './flow-policy.js';
import type { Judge, JudgedCall, Judgement } from './judge.js';
import { rememberCall } from './remember.js';
import { catchUp } from './run-log.js';
import type { RunMemory } from './run-memory.js';

/** A call of a tool. */
export interface RuledCall {
  readonly tool: string | undefined;
  readonly effect: KnownEffect;
  readonly arguments: unknown;
  /** The whole of it, as it is screened. */
  readonly inputs: readonly Input[];
  /** Task that was given with the call. */
  readonly task: string | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Whom a guard asks, and by which policy. */
export interface CallRules {
  readonly policy: { readonly flow: FlowPolicy };
  readonly effects: Pick<Effects, 'policyOf'>;
  readonly onAsk?: OnAsk | undefined;
  readonly askTimeoutMs: number;
  readonly judge?: Judge | undefined;
  readonly judgeTimeoutMs: number;
}

/** A ruling as it stands once a judge and a person were asked. */
export interface CallRuling extends FlowRuling {
  readonly judgement: Judgement | undefined;
}

/** Rules on the values that a call carries from untrusted data, and adds it to the run; undefined where it carries none. */
export async function ruleCall(run: RunMemory, call: RuledCall, rules: CallRules): Promise<CallRuling | undefined> {
  const { policy, effects, onAsk, askTimeoutMs } = rules;
  await catchUp(run);
  const flows = flowOf(run.state, call.arguments, policy.flow.trusted);
  const ruling = ruleFlows(flows, call.effect, effects.policyOf(call.tool), policy.flow);
  let action = ruling?.action ?? 'report';
  let judgement: Judgement | undefined;
  if (ruling !== undefined && action !== 'report') {
    const asked = { tool: call.tool, effect: call.effect.effect, flows: ruling.flows };
    judgement = await judgeCall(run, call, asked, rules);
    if (judgement !== undefined && 'serves' in judgement && judgement.serves) action = 'report';
    if (action === 'ask' && onAsk !== undefined) {
      const isPermitted = await askPerson(onAsk, { runId: run.id, ...asked }, askTimeoutMs, call.signal);
      action = isPermitted ? 'report' : 'deny';
    }
  }
  await rememberCall(run, call.inputs);
  return ruling && { ...ruling, action, judgement };
}

/** Asks the judge, if there is one. */
async function judgeCall(
  { task, said, texts }: RunMemory,
  call: RuledCall,
  asked: Pick<JudgedCall & FlowQuestion, 'tool' | 'effect' | 'flows'>,
  { judge, judgeTimeoutMs }: CallRules,
): Promise<Judgement | undefined> {
  if (judge === undefined) return undefined;
  const judges = await import('./judge.js');
  const text = call.inputs.map(inputText).join('\n');
  const about = { ...asked, task: cropTask(call.task ?? task ?? said), call: text, texts };
  return judges.judgeCall(judge, about, judgeTimeoutMs, call.signal);
}
