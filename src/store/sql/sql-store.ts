import type { Store, StoreHealth } from '../store.js';
import type { Charge } from '../usage-store.js';
import { sqlAccounts } from './accounts.js';
import type { Connection } from './connection.js';
import { type EvidenceOwn, sqlEvidence } from './evidence.js';
import { guarded } from './guarded.js';
import { sqlKeys } from './keys.js';
import { sqlNotes } from './notes.js';
import { sqlOrders } from './orders.js';
import { sqlSessions } from './sessions.js';
import { sqlUsage } from './usage.js';
import { sqlUsers } from './users.js';
import { sqlVersions } from './versions.js';

const usesMs = 5_000;

/** What a database brings beside its connection. */
export interface DatabaseOwn extends EvidenceOwn {
  readonly pepper: string;
  charge(accountId: string, at: number): Promise<Charge>;
  ready(): Promise<readonly string[]>;
  check(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** The store over a connection. */
export function sqlStore(connection: Connection, own: DatabaseOwn): Store {
  const { keys, flushUses } = sqlKeys(connection, own.pepper);
  const database = connection.dialect === 'sqlite' ? 'embedded' : 'postgres';
  // A last use that isn't written is no loss: the next one is.
  const timer = setInterval(() => void flushUses().catch(() => undefined), usesMs);
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
    users: guarded(sqlUsers(connection)),
    sessions: guarded(sqlSessions(connection)),
    keys: guarded(keys),
    usage: guarded({ ...sqlUsage(connection), charge: own.charge }),
    evidence: guarded(sqlEvidence(connection, own)),
    orders: guarded(sqlOrders(connection)),
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
