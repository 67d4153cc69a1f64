import { basename } from 'node:path';
import { z } from 'zod';
import { findInputs } from '../../batch/formats/input-files.js';
import { readFileRows } from '../../evaluation/rows/labelled-text.js';
import type { Flow, KnownEffect } from '../../policy/index.js';
import {
  isDecidedAlike,
  type ReportedCall,
  type ReportedDecision,
  recordedCall,
} from '../../policy/run/flow-report.js';
import { CliError } from '../terminal.js';

const name = z.string().max(1_000);
const flows: z.ZodType<readonly Flow[]> = z.array(
  z.object({
    argument: name,
    kind: z.enum(['email', 'url', 'host', 'account', 'phone', 'wallet', 'handle', 'path', 'secret', 'words']),
    level: z.enum(['suspicious', 'foreign']),
    source: z
      .object({ tool: name, evidenceId: name, probability: z.number() })
      .partial()
      .extend({ span: z.object({ start: z.number(), end: z.number() }) }),
  }),
) as z.ZodType<readonly Flow[]>;
const effect: z.ZodType<KnownEffect> = z.object({
  effect: z.enum(['read', 'write', 'send', 'execute']),
  why: z.enum(['policy', 'host', 'annotation', 'name', 'unknown name']),
});
const action = z.enum(['deny', 'ask', 'report']);
const decision: z.ZodType<ReportedDecision> = z.object({
  action,
  rule: z.enum(['flow.suspicious', 'flow.foreign']),
  effect,
  flows,
  policy: z.object({ suspicious: action, foreign: action }),
  judgement: z.union([z.object({ serves: z.boolean() }), z.object({ failure: name })]).optional(),
  answer: z.boolean().optional(),
}) as z.ZodType<ReportedDecision>;
const guardEvent = z.object({
  runId: name,
  evidenceId: name,
  tool: name.optional(),
  time: name.optional(),
  effect: effect.optional(),
  flows,
});
/** A line of an evidence export whose call carried values. */
const record = z.object({
  id: name,
  time: name,
  run: z.object({ id: name, tool: name.optional(), flow: z.object({ effect, flows }) }),
});

/** Calls of event files that carried values from data. */
export interface ReadCalls {
  readonly calls: readonly ReportedCall[];
  readonly events: number;
  /** Decisions that follow again from what decided them. */
  readonly alike: number;
  /** Evidence ids of those that don't. */
  readonly different: readonly string[];
}

const MOST_MISTAKES = 20;

/**
 * Reads events of guards, reports of the MCP gateway and exports of evidence, in any mixture.
 *
 * @throws CliError with the lines that are none of these, unless they are skipped; BatchError for a file that can't be read
 */
export async function readCalls(files: readonly string[], skipBadRows: boolean): Promise<ReadCalls> {
  const calls: ReportedCall[] = [];
  const mistakes: string[] = [];
  const different: string[] = [];
  let events = 0;
  let alike = 0;
  let wrong = 0;
  for (const file of await findInputs(files))
    for await (const { line, content } of readFileRows(file)) {
      const read = 'error' in content ? 'not JSON' : readEvent(content.value);
      if (typeof read === 'string') {
        wrong += 1;
        if (mistakes.length < MOST_MISTAKES) mistakes.push(`  ${basename(file.path)}:${line}: ${read}`);
        continue;
      }
      events += 1;
      const { call, decided } = read;
      if (call === undefined) continue;
      if (call.flows.length > 0) calls.push(call);
      // A call that carried nothing has no decision; one that names a decision has lost what it carried.
      else if (decided === 'unreadable') continue;
      if (decided === undefined) continue;
      if (decided !== 'unreadable' && isDecidedAlike(decided)) alike += 1;
      else different.push(call.evidenceId);
    }
  if (wrong === 0 || skipBadRows) return { calls, events, alike, different };
  const more = wrong > mistakes.length ? [`  … and ${wrong - mistakes.length} more`] : [];
  throw new CliError(
    `${wrong} ${wrong === 1 ? "row can't" : "rows can't"} be used:\n${[...mistakes, ...more].join('\n')}\nEach row is an event of a guard, a line of mcp-proxy --report or of an evidence export, as JSON. Skip others with --skip-bad-rows.`,
  );
}

/** A call that a row tells of, with the decision on it; undefined in a row that doesn't say what decided. */
interface ReadEvent {
  readonly call?: ReportedCall | undefined;
  readonly decided?: ReportedDecision | 'unreadable' | undefined;
}

/** Reads a row; a fault in words for one that is no event. Never quotes it. */
function readEvent(row: unknown): ReadEvent | string {
  if (typeof row !== 'object' || row === null) return 'not an event';
  if ('run' in row && 'verdict' in row) {
    if (typeof row.run !== 'object' || row.run === null) return 'its run is not an object';
    if (!('flow' in row.run)) return {};
    const read = record.safeParse(row);
    if (!read.success) return `its run can't be read: ${firstPath(read.error)}`;
    return { call: recordedCall(read.data), decided: readDecision(row.run.flow as object) };
  }
  if ('cause' in row && row.cause === 'flow') {
    const read = guardEvent.safeParse(row);
    if (!read.success) return `its flow can't be read: ${firstPath(read.error)}`;
    const { runId, evidenceId, tool = null, time = null, effect: known = null, flows: found } = read.data;
    const call = { runId, evidenceId, tool, time, effect: known, flows: found };
    return { call, decided: readDecision(row) };
  }
  const isEvent = ('runId' in row && ('point' in row || 'event' in row)) || ('id' in row && 'verdict' in row);
  return isEvent ? {} : 'not an event';
}

function readDecision(row: object): ReadEvent['decided'] {
  return 'policy' in row ? (decision.safeParse(row).data ?? 'unreadable') : undefined;
}

/** Names the place of the first mistake, and quotes nothing of it. */
function firstPath(error: z.ZodError): string {
  return `check \`${error.issues[0]?.path.join('.') ?? ''}\``;
}
