/** Adds up what calls carried from data, so that an operator can decide what to permit. */
import { hash } from 'node:crypto';
import type { KnownEffect } from './effects.js';
import type { Flow } from './flow.js';
import { type FlowActions, type FlowAnswers, type FlowRuling, ruleFlows, settleFlow } from './flow-policy.js';
import { argumentPath } from './tool-name.js';
import type { FlowGroup } from './written-policy.js';

/** A call that carried values from data, as an event or an evidence record tells it. */
export interface ReportedCall {
  readonly tool: string | null;
  readonly runId: string;
  /** Of the call. */
  readonly evidenceId: string;
  /** ISO 8601; null where the event doesn't say. */
  readonly time: string | null;
  /** Of the tool; null in events of before. */
  readonly effect: KnownEffect | null;
  readonly flows: readonly Flow[];
}

/** A decision on a call that carried values, and what decided it, as an event or an evidence record holds it. */
export interface ReportedDecision extends Pick<ReportedCall, 'flows'>, FlowAnswers {
  readonly effect: KnownEffect;
  readonly policy: FlowActions;
  readonly action: FlowRuling['action'];
  readonly rule: FlowRuling['rule'];
}

/** Whether a decision follows again from what decided it. Nobody is asked: the answers then count. */
export function isDecidedAlike({ flows, effect, policy, action, rule, ...answers }: ReportedDecision): boolean {
  const ruling = ruleFlows(
    flows.map((flow) => ({ ...flow, text: '' })),
    { effect, policy },
  );
  return ruling?.rule === rule && settleFlow(ruling.action, answers) === action;
}

/** An evidence record as far as a report needs it. */
export interface RecordedCall {
  readonly id: string;
  readonly time: string;
  readonly run?:
    | {
        readonly id: string;
        readonly tool?: string | undefined;
        readonly flow?: { readonly effect: KnownEffect; readonly flows: readonly Flow[] } | undefined;
      }
    | undefined;
}

/** The call of an evidence record; undefined where none was checked. */
export function recordedCall({ id, time, run }: RecordedCall): ReportedCall | undefined {
  if (run?.flow === undefined) return undefined;
  const { effect, flows } = run.flow;
  return { tool: run.tool ?? null, runId: run.id, evidenceId: id, time, effect, flows };
}

/** Equal flows of many calls. */
export interface FlowRow extends FlowGroup {
  /** 16 hex digits of what the flows have in common: the same in every report. */
  readonly id: string;
  readonly calls: number;
  readonly runs: number;
  /** The highest of the passages, 0..1; null for `foreign`. */
  readonly probability: number | null;
  /** Of the newest call. */
  readonly evidenceId: string;
}

/** Calls that carried values from data, added up. Holds no value. */
export interface FlowReport {
  readonly calls: number;
  readonly runs: number;
  /** Of the oldest and the newest call; null where no event says. */
  readonly from: string | null;
  readonly to: string | null;
  /** Calls by tool, with the effect in the last of them that says it. Most calls first. */
  readonly tools: readonly ReportedTool[];
  /** By tool as above, then suspicious ones first, then by the number of calls. */
  readonly rows: readonly FlowRow[];
}

/** Calls of a tool. One that carries values of both levels counts as `suspicious` alone. */
export interface ReportedTool {
  readonly tool: string | null;
  readonly effect: KnownEffect | null;
  readonly suspicious: number;
  readonly foreign: number;
}

interface Group {
  readonly row: FlowGroup;
  readonly runs: Set<string>;
  calls: number;
  probability: number | null;
  newest: ReportedCall;
}

/** Adds up calls, in any order. */
export function reportFlows(calls: readonly ReportedCall[]): FlowReport {
  const groups = new Map<string, Group>();
  const tools = new Map<string | null, { effect: KnownEffect | null; suspicious: number; foreign: number }>();
  for (const call of calls) {
    const counts = tools.get(call.tool) ?? { effect: null, suspicious: 0, foreign: 0 };
    counts.effect = call.effect ?? counts.effect;
    counts[call.flows.some(({ level }) => level === 'suspicious') ? 'suspicious' : 'foreign'] += 1;
    tools.set(call.tool, counts);
    addCall(groups, call);
  }
  const times = calls.flatMap(({ time }) => time ?? []).sort();
  const byCalls = [...tools]
    .map(([tool, counts]) => ({ tool, ...counts }))
    .sort((a, b) => b.suspicious + b.foreign - a.suspicious - a.foreign);
  const places = new Map(byCalls.map(({ tool }, at) => [tool, at]));
  const place = (tool: string | null): number => places.get(tool) ?? 0;
  return {
    calls: calls.length,
    runs: new Set(calls.map(({ runId }) => runId)).size,
    from: times[0] ?? null,
    to: times.at(-1) ?? null,
    tools: byCalls,
    rows: [...groups]
      .map(([facts, { row, runs, calls: count, probability, newest }]) => ({
        ...{ id: hash('sha256', facts).slice(0, 16), ...row },
        ...{ calls: count, runs: runs.size, probability, evidenceId: newest.evidenceId },
      }))
      .sort((a, b) => place(a.tool) - place(b.tool) || b.level.localeCompare(a.level) || b.calls - a.calls),
  };
}

function addCall(groups: Map<string, Group>, call: ReportedCall): void {
  const seen = new Set<string>();
  for (const { argument, kind, level, source } of call.flows) {
    const row = { tool: call.tool, source: source.tool ?? null, argument: argumentPath(argument), kind, level };
    const facts = JSON.stringify(Object.values(row));
    const group = groups.get(facts) ?? { row, runs: new Set(), calls: 0, probability: null, newest: call };
    groups.set(facts, group);
    if (source.probability !== undefined) group.probability = Math.max(group.probability ?? 0, source.probability);
    if (seen.has(facts)) continue;
    seen.add(facts);
    group.runs.add(call.runId);
    group.calls += 1;
    if ((call.time ?? '') >= (group.newest.time ?? '')) group.newest = call;
  }
}
