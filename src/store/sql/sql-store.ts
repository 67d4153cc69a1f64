import type { Charge } from '../account-store.js';
import type { Store, StoreHealth, VersionStore } from '../store.js';
import { guarded } from '../store-error.js';
import { sqlAccounts, sqlUsage } from './accounts/accounts.js';
import { sqlAttempts, sqlDevices } from './accounts/attempts.js';
import { sqlInvitations } from './accounts/invitations.js';
import { sqlKeys } from './accounts/keys.js';
import { sqlOrders } from './accounts/orders.js';
import { sqlSecondFactors } from './accounts/second-factors.js';
import { sqlSessions, sqlUsers } from './accounts/users.js';
import { type Connection, sqlNotes } from './connection.js';
import { type EvidenceOwn, sqlEvidence } from './evidence/evidence.js';

import { sqlAudit } from './operations/audit.js';
import { sqlOverlays } from './operations/overlays.js';
import { sqlRuns } from './operations/runs.js';
import { sqlWebhooks } from './operations/webhooks.js';

const USES_MS = 5_000;

/** The parts that a database provides beside its connection. */
export interface DatabaseOwn extends EvidenceOwn {
  charge(accountId: string, at: number): Promise<Charge>;
  ready(): Promise<readonly string[]>;
  check(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** The store over a connection. */
export function sqlStore(connection: Connection, own: DatabaseOwn): Store {
  const { keys, flushUses } = sqlKeys(connection);
  const database = connection.dialect === 'sqlite' ? 'embedded' : 'postgres';
  // A last use that isn't written is no loss: the next one is.
  const timer = setInterval(() => void flushUses().catch(() => undefined), USES_MS);
  timer.unref();
  const health = (look: () => Promise<readonly string[]>) => async (): Promise<StoreHealth> => {
    const problems = await look().catch((error: unknown) => [error instanceof Error ? error.message : 'unknown error']);
    return { ok: problems.length === 0, database, problems };
  };
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    clearInterval(timer);
    await flushUses().catch(() => undefined);
    await own.close();
  };
  return {
    database,
    plans: connection.plans,
    accounts: guarded(sqlAccounts(connection)),
    users: guarded({ ...sqlUsers(connection), ...sqlInvitations(connection) }),
    sessions: guarded(sqlSessions(connection)),
    devices: guarded(sqlDevices(connection)),
    attempts: guarded(sqlAttempts(connection)),
    keys: guarded(keys),
    usage: guarded({ ...sqlUsage(connection), charge: own.charge }),
    evidence: guarded(sqlEvidence(connection, own)),
    orders: guarded(sqlOrders(connection)),
    overlays: guarded(sqlOverlays(connection)),
    audit: guarded(sqlAudit(connection)),
    webhooks: guarded(sqlWebhooks(connection)),
    secondFactors: guarded(sqlSecondFactors(connection)),
    runs: guarded(sqlRuns(connection)),
    versions: guarded(sqlVersions(connection)),
    notes: guarded(sqlNotes(connection)),
    ready: health(own.ready),
    check: health(own.check),
    close() {
      closing ??= close();
      return closing;
    },
  };
}

/** Versions of rules and models in SQL. */
function sqlVersions({ db, now }: Connection): VersionStore {
  return {
    async put(kind, version, file, bytes) {
      await db
        .insertInto('versions')
        .values({ kind, version, file, bytes: Buffer.from(bytes), stored_at: now() })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    },
    async names(kind, version) {
      const files = db.selectFrom('versions').select('file').where('kind', '=', kind).where('version', '=', version);
      return (await files.orderBy('file').execute()).map(({ file }) => file);
    },
    async get(kind, version) {
      const files = db.selectFrom('versions').select(['file', 'bytes']).where('kind', '=', kind);
      const rows = await files.where('version', '=', version).orderBy('file').execute();
      return rows.length === 0 ? undefined : new Map(rows.map(({ file, bytes }) => [file, bytes]));
    },
    async list(kind) {
      const rows = await db
        .selectFrom('versions')
        .select(({ fn }) => ['version', fn.min('stored_at').as('storedAt')])
        .where('kind', '=', kind)
        .groupBy('version')
        .execute();
      return rows
        .map((row) => ({ version: row.version, storedAt: Number(row.storedAt) }))
        .sort((a, b) => a.storedAt - b.storedAt);
    },
  };
}
