import { hash } from 'node:crypto';
import { z } from 'zod';
import { recordedCall, reportFlows } from '../../policy/run/flow-report.js';
import { checkAccountPolicy, type WrittenPolicy } from '../../policy/run/written-policy.js';
import type { FlowPolicyState, FlowsResponse } from '../ports.js';
import { type ApiApp, ApiError, type DashboardParts } from './api-parts.js';
import { lengthOf, newestRecords } from './review-routes.js';
import { getMember } from './sign-in/session.js';

const DAY = 86_400_000;
const MOST_ROWS = 500;
/** UTF-16 code units of the flows that one report is made of. */
const MOST_CHARACTERS = 2 * 1024 * 1024;
const flowsQuery = z.object({ days: z.coerce.number().int().min(1).max(90).default(7) });
/** `replaces`: the version that the caller has seen, so that somebody else's isn't overwritten unseen. */
const replaceQuery = z.object({ replaces: z.string().max(64).optional() });

/** Values that calls of runs carried from data, and the policy that decides on them. */
export function flowRoutes(app: ApiApp, { store, now }: DashboardParts): void {
  app.get('/flows', { schema: { querystring: flowsQuery } }, async (request): Promise<FlowsResponse> => {
    const filter = { channel: 'tool_call', from: now() - request.query.days * DAY } as const;
    const { accountId } = getMember(request);
    let characters = 0;
    const { picked: calls, isWhole } = await newestRecords(store.evidence, accountId, filter, (record) => {
      characters += lengthOf(record.run?.flow?.flows);
      return characters > MOST_CHARACTERS ? undefined : recordedCall(record);
    });
    const report = reportFlows(calls.filter(({ flows }) => flows.length > 0));
    const rows = report.rows.slice(0, MOST_ROWS);
    return {
      ...{ report: { ...report, rows }, moreRows: report.rows.length - rows.length, checked: calls.length },
      isWhole: isWhole && characters <= MOST_CHARACTERS,
    };
  });

  const policyOf = async (accountId: string) => flowPolicyState((await store.accounts.find(accountId)).flowPolicy);
  app.get('/flow-policy', (request) => policyOf(getMember(request).accountId));
  app.put('/flow-policy', { schema: { querystring: replaceQuery } }, async (request) => {
    const { accountId } = getMember(request);
    const policy = request.body;
    const { replaces } = request.query;
    requirePolicy(policy);
    if (replaces !== undefined && replaces !== (await policyOf(accountId)).version)
      throw new ApiError(409, 'The policy has been changed in the meantime. Reload the page and review it first.');
    return flowPolicyState((await store.accounts.setSettings(accountId, { flowPolicy: policy })).flowPolicy);
  });
  app.delete('/flow-policy', async (request) => {
    const { accountId } = getMember(request);
    return flowPolicyState((await store.accounts.setSettings(accountId, { flowPolicy: null })).flowPolicy);
  });
}

function flowPolicyState(policy: WrittenPolicy | null): FlowPolicyState {
  return { policy, version: hash('sha256', JSON.stringify(policy)).slice(0, 16) };
}

/** @throws ApiError 400 that says what is wrong with it */
function requirePolicy(policy: unknown): asserts policy is WrittenPolicy {
  try {
    checkAccountPolicy(policy);
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError)
      throw new ApiError(400, `The policy can't be used: ${error.message}.`);
    throw error;
  }
}
