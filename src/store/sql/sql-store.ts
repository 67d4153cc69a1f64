import type { Charge, KeyStore, OrderStore, OverlayStore, UsageStore } from '../account-store.js';
import type { AuditStore, WebhookStore } from '../operations-store.js';
import type { Store, StoreHealth, VersionStore } from '../store.js';
import { guarded } from '../store-error.js';
import type { AttemptStore, DeviceStore, SecondFactorStore, SessionStore, UserStore } from '../user-store.js';
import { accounts, overlays, usage } from './accounts/accounts.js';
import { keys, writeUses } from './accounts/keys.js';
import { orders } from './accounts/orders.js';
import { attempts, devices, secondFactors } from './accounts/sign-in.js';
import { invitations, sessions, users } from './accounts/users.js';
import { type Connection, type Queries, sqlNotes } from './connection.js';
import { type EvidenceOwn, sqlEvidence } from './evidence/evidence.js';
import { audit } from './operations/audit.js';
import { sqlRuns } from './operations/runs.js';
import { webhooks } from './operations/webhooks.js';

const USES_MS = 5_000;

/** The parts that a database provides beside its connection. */
export interface DatabaseOwn extends EvidenceOwn {
  charge(accountId: string, at: number): Promise<Charge>;
  ready(): Promise<readonly string[]>;
  check(): Promise<readonly string[]>;
  close(): Promise<void>;
}

export function sqlStore(connection: Connection, own: DatabaseOwn): Store {
  const database = connection.dialect === 'sqlite' ? 'embedded' : 'postgres';
  const uses = openUses(connection);
  const health = (look: () => Promise<readonly string[]>) => async (): Promise<StoreHealth> => {
    const problems = await look().catch((error: unknown) => [error instanceof Error ? error.message : 'unknown error']);
    return { ok: problems.length === 0, database, problems };
  };
  const part = <Part extends object>(queries: Queries<Part>): Part => {
    const bound = Object.entries<(...args: never[]) => unknown>(queries).map(
      ([name, query]) => [name, query.bind(undefined, connection as never)] as const,
    );
    return guarded(Object.fromEntries(bound) as Part);
  };
  const close = async (): Promise<void> => {
    await uses.close();
    await own.close();
  };
  let closing: Promise<void> | undefined;
  return {
    database,
    plans: connection.plans,
    accounts: part(accounts),
    users: part<UserStore>({ ...users, ...invitations }),
    sessions: part<SessionStore>(sessions),
    devices: part<DeviceStore>(devices),
    attempts: part<AttemptStore>(attempts),
    keys: { ...part<Omit<KeyStore, 'used'>>(keys), used: uses.note },
    usage: { ...part<Omit<UsageStore, 'charge'>>(usage), ...guarded({ charge: own.charge }) },
    evidence: guarded(sqlEvidence(connection, own)),
    orders: part<OrderStore>(orders),
    overlays: part<OverlayStore>(overlays),
    audit: part<AuditStore>(audit),
    webhooks: part<WebhookStore>(webhooks),
    secondFactors: part<SecondFactorStore>(secondFactors),
    runs: guarded(sqlRuns(connection)),
    versions: part<VersionStore>(versions),
    notes: guarded(sqlNotes(connection)),
    ready: health(own.ready),
    check: health(own.check),
    close() {
      closing ??= close();
      return closing;
    },
  };
}

/** Uses of keys, written together every few seconds. One that isn't written is no loss: the next one is. */
function openUses(connection: Connection) {
  const uses = new Map<string, number>();
  const write = async (): Promise<void> => {
    const noted = new Map(uses);
    uses.clear();
    await writeUses(connection, noted).catch(() => undefined);
  };
  const timer = setInterval(() => void write(), USES_MS);
  timer.unref();
  return {
    note(id: string, at: number): void {
      uses.set(id, Math.max(at, uses.get(id) ?? 0));
    },
    close(): Promise<void> {
      clearInterval(timer);
      return write();
    },
  };
}

const versions: Queries<VersionStore> = {
  async put({ db, now }, kind, version, file, bytes) {
    await db
      .insertInto('versions')
      .values({ kind, version, file, bytes: Buffer.from(bytes), storedAt: now() })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  },
  async names({ db }, kind, version) {
    const files = db.selectFrom('versions').select('file').where('kind', '=', kind).where('version', '=', version);
    return (await files.orderBy('file').execute()).map(({ file }) => file);
  },
  async get({ db }, kind, version) {
    const files = db.selectFrom('versions').select(['file', 'bytes']).where('kind', '=', kind);
    const rows = await files.where('version', '=', version).orderBy('file').execute();
    return rows.length === 0 ? undefined : new Map(rows.map(({ file, bytes }) => [file, bytes]));
  },
  async list({ db }, kind) {
    const all = db.selectFrom('versions').select(({ fn }) => ['version', fn.min('storedAt').as('storedAt')]);
    return all.where('kind', '=', kind).groupBy('version').orderBy('storedAt').execute();
  },
};
