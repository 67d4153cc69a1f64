import { existsSync } from 'node:fs';
import { Command } from 'commander';
import { visibleText } from '../../engine/text/visible-text.js';
import type { FlowPolicy } from '../../policy/index.js';
import { type FlowReport, type FlowRow, reportFlows } from '../../policy/run/flow-report.js';
import { confirmedPolicy, isAcceptable } from '../../policy/run/written-policy.js';
import { choice } from '../engine-flags.js';
import { readPolicy } from '../policy-file.js';
import { writeReport } from '../screen/text-files.js';
import { CliError, textTable } from '../terminal.js';
import { type ReadCalls, readCalls } from './read-events.js';

interface ReportFlags {
  readonly confirm?: readonly string[];
  readonly write?: string;
  readonly suspicious?: FlowPolicy['suspicious'];
  readonly foreign?: FlowPolicy['foreign'];
  readonly skipBadRows?: boolean;
  readonly json?: boolean;
}

async function report(files: readonly string[], flags: ReportFlags): Promise<void> {
  const { confirm = [], write, suspicious, foreign, json } = flags;
  if (write === undefined && (confirm.length > 0 || suspicious !== undefined || foreign !== undefined))
    throw new CliError('--confirm, --suspicious and --foreign say what --write writes: give it a file.');
  const { calls, ...read } = await readCalls(files, flags.skipBadRows ?? false);
  const found = reportFlows(calls);
  const confirmed = confirm.map((id) => confirmedRow(found, id));
  process.stdout.write(json ? `${JSON.stringify({ ...read, ...found }, null, 2)}\n` : reportText(found, read));
  if (read.different.length > 0) process.exitCode = 1;
  if (write === undefined) return;
  const base = readPolicy(existsSync(write) ? write : undefined);
  const flow = {
    ...base.on?.flow,
    ...(suspicious === undefined ? {} : { suspicious }),
    ...(foreign === undefined ? {} : { foreign }),
  };
  const policy = confirmedPolicy(confirmed, { ...base, on: { ...base.on, flow } });
  await writeReport(write, `${JSON.stringify(policy, null, 2)}\n`);
  const permitted = Object.values(policy.tools ?? {}).reduce((sum, { accepts = [] }) => sum + accepts.length, 0);
  process.stderr.write(
    permitted === 0
      ? `${write} permits nothing that comes from data: confirm rows with --confirm ID.\n`
      : `${write} permits ${permitted === 1 ? 'one kind of flow' : `${permitted} kinds of flows`}, ${confirmed.length} confirmed now.\n`,
  );
}

/** @throws CliError for a row that isn't there, or that no policy can permit */
function confirmedRow({ rows }: FlowReport, id: string): FlowRow {
  const row = rows.find((each) => each.id === id);
  if (row === undefined)
    throw new CliError(`--confirm ${id}: the report has no such row; ids are in its first column.`);
  if (!isAcceptable(row))
    throw new CliError(
      `--confirm ${id}: a policy names both tools and the argument, and one of these has no name of its own. Name a tool where the text is screened: { tool }.`,
    );
  return row;
}

/** Names come from hosts and servers: only a part, and nothing that drives the terminal. */
function shownName(name: string | null, other: string): string {
  return name === null ? other : visibleText(name.slice(0, 64));
}

function reportText(
  { calls, runs, from, to, tools, rows }: FlowReport,
  { events, alike, different }: Omit<ReadCalls, 'calls'>,
): string {
  const counted = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`;
  const read = `${counted(events, 'event')} read`;
  if (calls === 0) return `${read}: no call carried a value from data.\n`;
  const period = from === null || to === null ? '' : `, ${from.slice(0, 10)} to ${to.slice(0, 10)}`;
  const head = `${read}: ${counted(calls, 'call')} in ${counted(runs, 'run')} carried values from data${period}.`;
  const byTool = textTable(tools, {
    Tool: ({ tool }) => shownName(tool, '(no name)'),
    Effect: ({ effect }) => (effect === null ? '-' : `${effect.effect} (${effect.why})`),
    Suspicious: ({ suspicious }) => String(suspicious),
    Foreign: ({ foreign }) => String(foreign),
  });
  const byRow = textTable(rows, {
    Id: ({ id }) => id,
    Tool: ({ tool }) => shownName(tool, '(no name)'),
    Argument: ({ argument }) => shownName(argument, ''),
    Value: ({ kind }) => kind,
    From: ({ source }) => shownName(source, '(a document)'),
    Level: ({ level }) => level,
    Calls: (row) => String(row.calls),
    Runs: (row) => String(row.runs),
    Highest: ({ probability }) => probability?.toFixed(2) ?? '-',
    Newest: ({ evidenceId }) => shownName(evidenceId, ''),
  });
  return `${head}\n${replayText(alike, different)}\nCalls that would be refused\n${byTool}\nWhat they carried\n${byRow}\nA call is refused unless all that it carries is confirmed: --write FILE --confirm ID ...\n`;
}

function replayText(alike: number, different: readonly string[]): string {
  const replayed = alike + different.length;
  if (replayed === 0) return '';
  const ids = different.slice(0, MOST_IDS).map((id) => shownName(id, ''));
  const more = different.length > ids.length ? ' …' : '';
  const others = ids.length === 0 ? '' : ` Decided otherwise now: ${ids.join(', ')}${more}`;
  return `${alike} of ${replayed} decisions are the same when replayed.${others}\n`;
}

/** Decisions that are decided otherwise now, listed at most. */
const MOST_IDS = 20;

const ACTIONS = ['deny', 'ask', 'report'];

function reportCommand(): Command {
  return new Command('report')
    .description(
      'list which calls carried values from data, by tool, argument and source, and write the policy that permits those you confirm',
    )
    .argument(
      '<files...>',
      'events of a guard, mcp-proxy --report, hook --report or evidence exports, as JSON Lines; "-" is standard input',
    )
    .option('--confirm <ids...>', 'rows to permit, by the ids of the report; nothing is permitted without')
    .option('--write <file>', 'write the policy as JSON; what a policy in this file permits already stays permitted')
    .addOption(
      choice('--suspicious <action>', 'action of the policy for values of suspicious results (default: deny)', ACTIONS),
    )
    .addOption(
      choice('--foreign <action>', 'action of the policy for addresses of other results (default: deny)', ACTIONS),
    )
    .option('--skip-bad-rows', 'skip rows that are no events, instead of stopping')
    .option('--json', 'print JSON')
    .action(report);
}

/** `portcullis flow report`: what calls carried from data, and the policy that permits it. */
export function flowCommand(): Command {
  return new Command('flow')
    .description('audit which calls of an agent carry values from data, before they are refused')
    .addCommand(reportCommand());
}
