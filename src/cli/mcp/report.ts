import { appendFileSync } from 'node:fs';
import type { GatewayEvent } from '../../integrations/mcp/pin-event.js';
import type { GuardEvent } from '../../policy/index.js';
import type { Screening } from './screening.js';

/** Where events go. */
export interface ReportFlags {
  readonly report?: string;
  readonly quiet?: boolean;
}

/** Writes enforcements to the file and to standard error. Screened text stands in none of them. */
export function createReporter(
  { report, quiet }: ReportFlags,
  server: string,
  { tellPin }: Pick<Screening, 'tellPin'>,
): (event: GuardEvent | GatewayEvent) => void {
  let fails = false;
  return (event) => {
    if ('event' in event && event.event === 'tool_pin' && event.action !== 'drop') {
      const { tool = '', change = 'changed', action, runId } = event;
      tellPin?.({ server: server.slice(0, 200), tool, change, action, runId });
    }
    const where = 'event' in event ? event.event : event.point;
    const action = event.action === 'report' ? 'would act on' : event.action;
    const proof = 'rule' in event ? ` rule=${event.rule} evidence=${event.evidenceId}` : '';
    const tool = event.tool === undefined ? '' : ` ${event.tool}`;
    if (!quiet) process.stderr.write(`portcullis: ${action} ${where}${tool}: ${event.reason ?? 'blocked'}${proof}\n`);
    if (report === undefined || fails) return;
    const line = { time: new Date().toISOString(), server, event: 'screening', ...event };
    try {
      appendFileSync(report, `${JSON.stringify(line)}\n`, { mode: 0o600 });
    } catch (error) {
      fails = true;
      const code = error instanceof Error && 'code' in error ? error.code : 'unknown error';
      process.stderr.write(`portcullis: the report ${report} can't be written (${code}); continuing without it\n`);
    }
  };
}
