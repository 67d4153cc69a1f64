import type { FastifyBaseLogger, FastifyInstance, RouteOptions } from 'fastify';
import { loadPack } from '../../src/adapters/packs/load-pack.js';
import { type OverlayStack, overlayStack } from '../../src/adapters/packs/overlay-stack.js';
import type { DashboardParts } from '../../src/dashboard/api/api-parts.js';
import { operatorBilling } from '../../src/dashboard/billing/billing.js';
import { dashboard } from '../../src/dashboard/dashboard.js';
import type { RecordView } from '../../src/dashboard/ports.js';
import { compilePack } from '../../src/engine/rules/compile-pack.js';
import type { PackChange } from '../../src/engine/rules/types.js';
import { createEngine } from '../../src/index.js';
import { dashboardService } from '../../src/service/dashboard-service.js';
import { buildApp } from '../../src/service/http/build-app.js';
import { replayService } from '../../src/service/replay-service.js';
import { accountOverlays } from '../../src/service/screening/account-overlays.js';
import type { ScreeningEngine } from '../../src/service/screening/ports.js';
import { type AskedInput, screenCall } from '../../src/service/screening/screen-call.js';
import { urlProblem } from '../../src/service/webhooks/public-address.js';
import { webhookBody } from '../../src/service/webhooks/watch-accounts.js';
import type { Store } from '../../src/store/store.js';
import { databases, type TestDatabase } from '../store/databases.js';

const loaded = loadPack({ today: '2026-11-22' });
const { pack } = loaded;
const compiled = compilePack(pack);
const rulesOnly = createEngine({ pack: compiled, mode: 'rules', model: false });
/** The engine with an account's overlay on top. */
const engineUnder = (change: PackChange | undefined) =>
  change === undefined ? rulesOnly : createEngine({ pack: compiled.withChange(change), mode: 'rules', model: false });
const coreRules: DashboardParts['rules'] = () => ({
  version: pack.rulesVersion,
  rules: pack.layers.flatMap(({ rules }) => rules),
});

/** The service with its dashboard on a database of its own; the rules score in this process. */
export interface TestDashboard {
  readonly app: FastifyInstance;
  readonly store: Store;
  /** Of the dashboard's JSON routes: `GET /evidence/:id`. */
  readonly routes: readonly string[];
  /** Screens a text and keeps its record. */
  readonly screen: (accountId: string, given: string | AskedInput, time?: number) => Promise<RecordView>;
  readonly accountIdOf: (email: string) => Promise<string>;
  readonly close: () => Promise<void>;
}

export async function testDashboard(
  changes: Partial<DashboardParts> & {
    readonly billingOf?: (store: Store) => Partial<DashboardParts>;
    readonly trustProxy?: readonly string[];
    /** Default: on the core pack. */
    readonly stackOf?: () => OverlayStack;
    readonly logger?: FastifyBaseLogger;
  } = {},
  make: (() => Promise<TestDatabase>) | undefined = databases[0]?.make,
): Promise<TestDashboard> {
  if (make === undefined) throw new Error('no database');
  const { billingOf, trustProxy, stackOf, logger, ...parts } = changes;
  const now = changes.now ?? Date.now;
  const database = await make();
  const store = await database.open({ now });
  const engine: ScreeningEngine = {
    info: rulesOnly.info,
    score: async (input, { change, channel, explain, evidenceId }) =>
      engineUnder(change).scan(input, { channel, explain, evidenceId }),
  };
  const overlays = accountOverlays(
    stackOf ?? (() => overlayStack(loaded, '2026-11-22')),
    engine.info,
    store.versions,
    () => new Date(now()),
  );
  const replays = replayService(store, engine, overlays);
  const routes: string[] = [];
  const noteRoute = ({ method, url }: RouteOptions): void => {
    const path = /^\/dashboard\/api(\/.*)$/.exec(url)?.[1];
    for (const one of [method].flat()) if (path !== undefined && one !== 'HEAD') routes.push(`${one} ${path}`);
  };
  const app = await buildApp({
    store,
    engine,
    overlays,
    nodeMetrics: false,
    trustProxy,
    logger,
    now: () => new Date(now()),
    async extend(inner) {
      inner.addHook('onRoute', noteRoute);
      await dashboard(inner, {
        store,
        service: dashboardService({ store, engine, overlays, replays, now: () => new Date(now()) }),
        billing: operatorBilling(store.orders),
        rules: coreRules,
        webhooks: {
          urlProblem: (url) => urlProblem(url, false),
          testBody: (accountId) => webhookBody('webhook.test', accountId, {}, now()),
        },
        signUp: true,
        now,
        ...billingOf?.(store),
        ...parts,
      });
    },
  });
  return {
    app,
    store,
    routes,
    screen: async (accountId, given, time = now()) => {
      const asked = typeof given === 'string' ? { input: given } : given;
      const owner = { accountId, keyId: null, keep: 'whole' } as const;
      return (await screenCall({ write: store.evidence.append, engine, now: () => new Date(time) }, owner, asked))
        .record;
    },
    accountIdOf: async (email) => {
      const user = await store.users.findByEmail(email);
      const [member] = user === undefined ? [] : await store.users.memberships(user.id);
      if (member === undefined) throw new Error('no such member');
      return member.accountId;
    },
    close: async () => {
      await app.close();
      await replays.close();
      await store.close();
      await database.remove();
    },
  };
}

/** A signed-in caller. */
export interface Caller {
  readonly accountId: string;
  readonly memberId: string;
  readonly cookie: string;
  readonly csrf: string;
}

export async function signIn(
  { app }: Pick<TestDashboard, 'app'>,
  path: 'sign-in' | 'sign-up' | 'invitation/accept',
  body: object,
): Promise<Caller> {
  const response = await app.inject({ method: 'POST', url: `/dashboard/api/${path}`, payload: body });
  if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode} ${response.body}`);
  const { member, csrf } = response.json();
  const { name, value } = response.cookies[0]!;
  return { accountId: member.accountId, memberId: member.id, cookie: `${name}=${value}`, csrf };
}

function headersOf(caller: Caller): Record<string, string> {
  return { cookie: caller.cookie, 'x-csrf-token': caller.csrf };
}

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** Asks a JSON route as somebody, or as nobody. */
export function ask(
  { app }: Pick<TestDashboard, 'app'>,
  caller: Caller | Record<string, string>,
  method: Method,
  path: string,
  payload?: object,
) {
  const headers = 'csrf' in caller && 'cookie' in caller ? headersOf(caller as Caller) : caller;
  return app.inject({
    ...{ method, url: `/dashboard/api${path}`, headers: headers as Record<string, string> },
    ...(payload === undefined ? {} : { payload }),
  });
}

/** A member of the caller's account, by an invitation taken up. */
export async function newMember(
  it: TestDashboard,
  owner: Caller,
  email: string,
  role: 'owner' | 'analyst' | 'viewer',
): Promise<Caller> {
  const { token } = (await ask(it, owner, 'POST', '/invitations', { email, role })).json();
  return signIn(it, 'invitation/accept', { token, password: 'a long password' });
}
