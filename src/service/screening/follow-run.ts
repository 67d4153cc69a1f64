import type { Channel } from '../../engine/channel.js';
import type { ExplainedWindow } from '../../engine/explain.js';
import { type Input, JsonText } from '../../engine/input.js';
import type { Verdict } from '../../engine/verdict.js';
import type { Keep, RecordedFlow, RecordedRun } from '../../evidence/evidence-record.js';
import { decideFlow } from '../../policy/run/decide-flow.js';
import { effectOf } from '../../policy/run/effects.js';
import { argumentsOf } from '../../policy/run/flow.js';
import { DEFAULT_FLOW_POLICY, type FlowGrounds, type FlowPolicy } from '../../policy/run/flow-policy.js';
import { plainText } from '../../policy/run/pieces/prose.js';
import { callEntry, dataEntry } from '../../policy/run/remember.js';
import { addLines, applyEntries, toRunEntry } from '../../policy/run/run-log.js';
import { type Entry, emptyRun, type RunEntry, type RunLog } from '../../policy/run/run-state.js';
import { type Effect, policyOf } from '../../policy/run/tool-policy.js';
import type { WrittenPolicy } from '../../policy/run/written-policy.js';
import { fromPlain, type PlainInput } from '../long-texts/plain-input.js';

export interface AskedRun {
  readonly id: string;
  readonly tool?: string | undefined;
  /** Effect of the tool, where the caller knows it. */
  readonly effect?: Effect | undefined;
  /** Of the account; default: that of a guard. */
  readonly policy?: WrittenPolicy | undefined;
  /** The call was made already. */
  readonly isPast?: boolean | undefined;
  /** Something else adds to what the run remembers. */
  readonly isKeptElsewhere?: boolean | undefined;
}

export interface ScreenedText {
  readonly input: PlainInput;
  /** Undefined also for one that is blocked: it gives nothing. */
  readonly task: string | undefined;
  readonly channel: Channel;
  /** With the id of its evidence. */
  readonly verdict: Verdict;
  /** Windows that the model scored. */
  readonly windows: readonly ExplainedWindow[];
  readonly keep: Keep;
}

/** A text and the run that it is to be followed through; can be sent to another thread. */
export interface RunStep {
  readonly run: AskedRun;
  readonly text: ScreenedText;
  /** Undefined where the text leaves the run as it is and is not checked against it. */
  readonly memory: Awaited<ReturnType<RunLog['read']>> | undefined;
}

/** The record of a text of a run, and the entries that the run is to remember. */
export interface FollowedText {
  readonly recorded: RecordedRun;
  readonly entries: readonly RunEntry[];
}

/** Whether a text is followed through its run: the others are recorded alone. */
export function isFollowed({ isPast, isKeptElsewhere }: AskedRun, channel: Channel): boolean {
  if (channel === 'tool_call') return isPast !== true;
  return isKeptElsewhere !== true && channel !== 'unknown' && channel !== 'instructions';
}

/** Rough cost of a step, in characters of data: those of a call take five times as long, those of the memory a tenth. */
export function stepCost({ text: { input, channel }, memory }: RunStep): number {
  // Of what isn't followed, only a call's name is read.
  if (memory === undefined && input.isToolCall !== true) return 0;
  const remembered = memory?.entries.reduce((sum, { length }) => sum + length, 0) ?? 0;
  return input.text.length * (channel === 'tool_call' ? 5 : 1) + remembered / 10;
}

/**
 * Follows the values of a run through a text. The text's own verdict stays as it is. A blocked result counts as suspicious, since
 * the caller may pass it on all the same.
 */
export function followRun({ run: asked, text: screened, memory }: RunStep): FollowedText {
  const { id, tool, effect: declared, policy: { on, tools = {} } = {}, isKeptElsewhere = false } = asked;
  const { task, channel, verdict, windows, keep } = screened;
  const input = fromPlain(screened.input);
  const named = nameOf(input) ?? tool;
  const recorded: RecordedRun = { id, ...(named === undefined ? {} : { tool: named.slice(0, 200) }) };
  if (memory === undefined) return { recorded, entries: [] };
  const run = { state: addLines(emptyRun(memory.seed), memory.entries) };
  const policy: FlowPolicy = { ...DEFAULT_FLOW_POLICY, ...on?.flow };
  const text = plainText(input);
  const added = [...applyEntries(run, task === undefined ? [] : [{ role: 'trusted', text: task }])];
  if (channel !== 'tool_call') {
    const entry: Entry =
      channel === 'user' ? { role: 'trusted', text } : dataEntry(text, { verdict, windows }, tool, policy);
    if (channel !== 'user' || verdict.verdict === 'allow') added.push(...applyEntries(run, [entry]));
    return { recorded, entries: added.map(toRunEntry) };
  }
  const ofTool = policyOf(tools, named);
  const effect = effectOf(named ?? '', { policy: ofTool, declared });
  const grounds: FlowGrounds = { effect, policy, to: ofTool.to, accepts: ofTool.accepts };
  const { digests, ...decision } = decideFlow(run.state, argumentsOf(input), grounds);
  if (decision.action === 'allow' || decision.action === 'report')
    added.push(...applyEntries(run, [callEntry(text, effect.effect)]));
  const flow: RecordedFlow = { ...decision, ...grounds, ...(keep === 'whole' ? { digests } : {}) };
  return { recorded: { ...recorded, flow }, entries: isKeptElsewhere ? [] : added.map(toRunEntry) };
}

function nameOf(input: Input): string | undefined {
  const call: unknown = input instanceof JsonText && input.isToolCall ? input.toJSON() : undefined;
  const { name } = (typeof call === 'object' && call !== null ? call : {}) as { readonly name?: unknown };
  return typeof name === 'string' ? name : undefined;
}
