import { createHash } from 'node:crypto';
import Fastify, { type FastifyInstance } from 'fastify';
import type { DashboardParts } from '../../src/dashboard/api/api-parts.js';
import { operatorBilling } from '../../src/dashboard/billing/operator-billing.js';
import { dashboard } from '../../src/dashboard/dashboard.js';
import type { DashboardService, RecordView } from '../../src/dashboard/ports.js';
import { createEngine } from '../../src/index.js';
import { type MemoryStore, memoryStore } from './memory-store.js';

/** The dashboard on a store in memory, with the real rules behind the playground. */
export interface TestDashboard {
  readonly app: FastifyInstance;
  readonly store: MemoryStore;
  /** Screens a text and keeps its record. */
  readonly screen: (accountId: string, input: string, time?: number) => Promise<RecordView>;
}

export async function testDashboard(changes: Partial<DashboardParts> = {}): Promise<TestDashboard> {
  const now = changes.now ?? Date.now;
  const store = memoryStore(now);
  const engine = createEngine({ mode: 'rules', model: false });
  const screen = async (accountId: string, input: string, time = now()): Promise<RecordView> => {
    const { explanation, ...verdict } = await engine.analyze(input, { explain: true });
    const sha256 = createHash('sha256').update(input).digest('hex');
    const record: RecordView = {
      id: verdict.evidence_id,
      time: new Date(time).toISOString(),
      account_id: accountId,
      key_id: null,
      input: { kept: 'whole', text: input, sha256, length: input.length, json: false },
      verdict,
      channel: explanation.channel,
      router_level: explanation.router_level,
      rules: explanation.rules,
      findings: explanation.findings,
      shadow_findings: explanation.shadow_findings,
      model: explanation.model,
      unseen: explanation.unseen,
      settings: {
        portcullis: 'test',
        rules_threshold: explanation.rules.threshold,
        paranoia: null,
        timeout_ms: null,
      },
      replay_digest: sha256,
      label: null,
    };
    store.append(accountId, record);
    return record;
  };
  const service: DashboardService = {
    playground: async (accountId, input) => ({ outcome: 'answered', record: await screen(accountId, input) }),
    replay: async (record) => {
      if (record.input.text === null)
        return { outcome: 'impossible', notes: ['Retention kept the hash alone.'], verdict: null };
      const again = await engine.analyze(record.input.text);
      const same = again.score === record.verdict.score && again.rules_version === record.verdict.rules_version;
      return same
        ? { outcome: 'identical', notes: [], verdict: again }
        : { outcome: 'different', notes: ['The score differs.'], verdict: again };
    },
  };
  const app = Fastify();
  const parts = { store, orders: store, service, billing: operatorBilling(store), signUp: true, now, ...changes };
  await app.register(async (scope) => dashboard(scope, parts));
  return { app, store, screen };
}

/** A signed-in caller. */
export interface Caller {
  readonly accountId: string;
  readonly memberId: string;
  readonly cookie: string;
  readonly csrf: string;
}

export async function signIn(app: FastifyInstance, path: 'sign-in' | 'sign-up', body: object): Promise<Caller> {
  const response = await app.inject({ method: 'POST', url: `/dashboard/api/${path}`, payload: body });
  if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode} ${response.body}`);
  const { member, csrf } = response.json();
  const { name, value } = response.cookies[0]!;
  return { accountId: member.accountId, memberId: member.id, cookie: `${name}=${value}`, csrf };
}

export function headersOf(caller: Caller): Record<string, string> {
  return { cookie: caller.cookie, 'x-csrf-token': caller.csrf };
}
