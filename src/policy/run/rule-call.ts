/** Rules on a call of a run. Loaded by the first of them: it needs the engine's readings of texts. */
import { cropTask, type Input, inputText, taskOf } from '../../engine/input.js';
import { askPerson, type FlowQuestion, type OnAsk, questionText } from './ask.js';
import { ruleArguments } from './decide-flow.js';
import type { KnownEffect } from './effects.js';
import { type FlowAnswers, type FlowPolicy, type FlowRuling, settleFlow } from './flow-policy.js';
import type { Judge, JudgedCall, Judgement } from './judge.js';
import { rememberCall } from './remember.js';
import { catchUp } from './run-log.js';
import type { RunMemory } from './run-memory.js';
import type { ToolPolicy } from './tool-policy.js';

export interface RuledCall {
  readonly tool: string | undefined;
  readonly effect: KnownEffect;
  /** Declarations of the operator about the tool. */
  readonly declared: ToolPolicy;
  readonly arguments: unknown;
  /** The whole of it, as it is screened. */
  readonly inputs: readonly Input[];
  /** Task that was given with the call. */
  readonly task?: string | undefined;
  readonly isShared?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The judge and the person that a guard asks, and its policy. */
export interface CallRules {
  readonly policy: { readonly flow: FlowPolicy };
  readonly onAsk?: OnAsk | undefined;
  readonly askTimeoutMs: number;
  readonly judge?: Judge | undefined;
  readonly judgeTimeoutMs: number;
}

/** A ruling as it stands once a judge and a person were asked. */
export interface CallRuling extends FlowRuling, FlowAnswers {
  /** Set where the host asks a person. */
  readonly question?: string | undefined;
}

/** Rules on the values that a call carries from untrusted data, and adds one that may be made to the run; undefined where it carries none. */
export async function ruleCall(run: RunMemory, call: RuledCall, rules: CallRules): Promise<CallRuling | undefined> {
  const { to, accepts } = call.declared;
  const grounds = { effect: call.effect, policy: rules.policy.flow, to, accepts };
  const permitted = new Set<string>();
  let ruled: CallRuling | undefined;
  let isPermitted = false;
  do {
    await catchUp(run);
    const ruling = ruleArguments(run.state, call.arguments, grounds);
    const names = ruling?.flows.map((flow) => JSON.stringify(flow)) ?? [];
    if (ruling === undefined || names.every((name) => permitted.has(name))) break;
    ruled = ruling.action === 'report' ? ruling : await askAbout(ruling, run, call, rules);
    for (const name of names) permitted.add(name);
    isPermitted = ruling.action !== 'report' && ruled.action === 'report';
    // The run may have read more while a judge or a person was asked.
  } while (isPermitted);
  // A call that isn't made brings in nothing, nor does one that the host has yet to ask about, or whose model may be another's.
  if (!call.isShared && (ruled === undefined || ruled.action === 'report'))
    await rememberCall(run, call.inputs, call.effect);
  return ruled;
}

/** Asks the judge and the person, as far as there are any, whether to make a call that the policy doesn't just report. */
async function askAbout(ruling: FlowRuling, run: RunMemory, call: RuledCall, rules: CallRules): Promise<CallRuling> {
  const { onAsk, askTimeoutMs } = rules;
  const asked = { tool: call.tool, effect: call.effect.effect, flows: ruling.flows };
  const judgement = await judgeCall(run, call, asked, rules);
  let answer: boolean | undefined;
  let question: string | undefined;
  if (settleFlow(ruling.action, { judgement }) === 'ask') {
    if (onAsk !== undefined) answer = await askPerson(onAsk, { runId: run.id, ...asked }, askTimeoutMs, call.signal);
    else {
      question = questionText(asked);
      if (question === undefined) answer = false;
    }
  }
  return { ...ruling, action: settleFlow(ruling.action, { judgement, answer }), judgement, answer, question };
}

/** Asks the judge, if there is one. */
async function judgeCall(
  run: RunMemory,
  call: RuledCall,
  asked: Pick<JudgedCall & FlowQuestion, 'tool' | 'effect' | 'flows'>,
  { judge, judgeTimeoutMs }: CallRules,
): Promise<Judgement | undefined> {
  if (judge === undefined) return undefined;
  const judges = await import('./judge.js');
  const text = call.inputs.map(inputText).join('\n');
  const task = cropTask(call.task ?? run.task) ?? taskOf(await run.said());
  const about = { ...asked, task, call: text, texts: run.texts };
  const judgement = await judges.judgeCall(judge, about, judgeTimeoutMs, call.signal);
  return typeof judge === 'function' ? judgement : { ...judgement, model: judge.model };
}
