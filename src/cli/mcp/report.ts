import type { GatewayEvent } from '../../integrations/mcp/pin-event.js';
import type { GuardEvent } from '../../policy/index.js';
import { createEventFile } from '../event-file.js';
import type { Screening } from './screening.js';

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
  const append = createEventFile(report);
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
    append({ server, event: 'screening', ...event });
  };
}
