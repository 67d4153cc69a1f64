import type { Keep, RecordedFlow, RecordedRun } from '../../evidence/evidence-record.js';
import { type ExplainedVerdict, type Input, JsonText } from '../../index.js';
import { decideFlow } from '../../policy/run/decide-flow.js';
import { createEffects, type Effect } from '../../policy/run/effects.js';
import { argumentsOf } from '../../policy/run/flow.js';
import { DEFAULT_FLOW_POLICY, type FlowPolicy } from '../../policy/run/flow-policy.js';
import { dataEntry } from '../../policy/run/remember.js';
import { addLines, applyEntries, type RunEntry, toRunEntry } from '../../policy/run/run-log.js';
import { plainText } from '../../policy/run/run-memory.js';
import { type Entry, emptyRun } from '../../policy/run/run-state.js';
import type { RunStore } from '../../store/store.js';

/** The run that a call is a part of. */
export interface AskedRun {
  readonly id: string;
  readonly tool?: string | undefined;
  /** Effect of the tool, where the caller knows it. */
  readonly effect?: Effect | undefined;
  /** Default: that of a guard. */
  readonly policy?: Partial<FlowPolicy> | undefined;
  /** The call was made already. */
  readonly isPast?: boolean | undefined;
  /** Something else adds to what the run remembers. */
  readonly isKeptElsewhere?: boolean | undefined;
}

/** A text of a run, screened. */
export interface RunText {
  readonly input: Input;
  readonly task: string | undefined;
  readonly explained: ExplainedVerdict;
  readonly evidenceId: string;
  readonly keep: Keep;
}

const effects = createEffects();

/**
 * Follows the values of a run through a text: what is recorded of it, and the entries that the run is to remember. The text's own
 * verdict stays as it is. A blocked result counts as suspicious, since the caller may pass it on all the same.
 */
export async function followRun(
  runs: RunStore,
  accountId: string,
  { id, tool, effect, policy: chosen, isPast = false, isKeptElsewhere = false }: AskedRun,
  { input, task, explained, evidenceId, keep }: RunText,
): Promise<{ readonly recorded: RecordedRun; readonly entries: readonly RunEntry[] }> {
  const { channel, model } = explained.explanation;
  const named = nameOf(input) ?? tool;
  const recorded: RecordedRun = { id, ...(named === undefined ? {} : { tool: named }) };
  const isCall = channel === 'tool_call';
  if (isCall && isPast) return { recorded, entries: [] };
  if (!isCall && (isKeptElsewhere || channel === 'unknown' || channel === 'instructions'))
    return { recorded, entries: [] };
  const { seed, entries } = await runs.read(accountId, id);
  const run = { state: addLines(emptyRun(seed), entries) };
  const policy: FlowPolicy = { ...DEFAULT_FLOW_POLICY, ...chosen };
  const text = plainText(input);
  const asked: readonly Entry[] = task === undefined ? [] : [{ role: 'trusted', text: task }];
  const added = [...applyEntries(run, asked)];
  if (!isCall) {
    const found = { verdict: { ...explained, evidence_id: evidenceId }, windows: model.windows };
    const entry: Entry = channel === 'user' ? { role: 'trusted', text } : dataEntry(text, found, tool, policy);
    if (channel !== 'user' || explained.verdict === 'allow') added.push(...applyEntries(run, [entry]));
    return { recorded, entries: added.map(toRunEntry) };
  }
  const grounds = { effect: effects.of(named, effect), policy };
  const { digests, ...decision } = decideFlow(run.state, argumentsOf(input), grounds);
  if (decision.action === 'allow' || decision.action === 'report')
    added.push(...applyEntries(run, [{ role: 'call', text }]));
  const flow: RecordedFlow = { ...decision, ...grounds, ...(keep === 'whole' ? { digests } : {}) };
  return { recorded: { ...recorded, flow }, entries: isKeptElsewhere ? [] : added.map(toRunEntry) };
}

function nameOf(input: Input): string | undefined {
  const call: unknown = input instanceof JsonText && input.isToolCall ? input.toJSON() : undefined;
  const { name } = (typeof call === 'object' && call !== null ? call : {}) as { readonly name?: unknown };
  return typeof name === 'string' ? name.slice(0, 200) : undefined;
}
