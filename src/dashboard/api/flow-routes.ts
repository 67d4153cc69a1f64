import { z } from 'zod';
import { recordedCall, reportFlows } from '../../policy/run/flow-report.js';
import type { FlowsResponse } from '../ports.js';
import type { ApiApp, DashboardParts } from './api-parts.js';
import { newestRecords } from './review-routes.js';
import { getMember } from './sign-in/session.js';

const DAY = 86_400_000;
const MOST_ROWS = 500;
const flowsQuery = z.object({ days: z.coerce.number().int().min(1).max(90).default(7) });

/** Values that calls of runs carried from data. */
export function flowRoutes(app: ApiApp, { store, now }: DashboardParts): void {
  app.get('/flows', { schema: { querystring: flowsQuery } }, async (request): Promise<FlowsResponse> => {
    const filter = { channel: 'tool_call', from: now() - request.query.days * DAY } as const;
    const { accountId } = getMember(request);
    const { picked: calls, isWhole } = await newestRecords(store.evidence, accountId, filter, recordedCall);
    const report = reportFlows(calls.filter(({ flows }) => flows.length > 0));
    const rows = report.rows.slice(0, MOST_ROWS);
    return { report: { ...report, rows }, moreRows: report.rows.length - rows.length, checked: calls.length, isWhole };
  });
}
