import { createHmac } from 'node:crypto';
import type { RunStore } from '../../store.js';
import type { Connection } from '../connection.js';

/** Bounds on entries and their bytes. */
interface Bound {
  readonly entries: number;
  readonly bytes: number;
}

const RUN_BOUND: Bound = { entries: 1_000, bytes: 512 * 1024 };
const ACCOUNT_BOUND: Bound = { entries: 20_000, bytes: 32 * 1024 * 1024 };
/** An account is counted with one in so many calls, since that takes as long as it has entries. */
const COUNTED_CALLS = 16;

/** Deletes what is beyond a bound, of a run or of all of an account, the oldest first. */
async function trim({ db }: Connection, accountId: string, run: string | undefined, bound: Bound): Promise<void> {
  const all = db.selectFrom('runEntries').where('accountId', '=', accountId);
  const own = run === undefined ? all : all.where('run', '=', run);
  const newest = own.select(['at', 'name', 'bytes']).orderBy('at', 'desc').orderBy('name', 'desc');
  const sizes = await newest.limit(bound.entries + 1).execute();
  let left = bound.bytes;
  const end = sizes.findIndex(({ bytes }, index) => {
    left -= bytes;
    return index >= bound.entries || (left < 0 && index > 0);
  });
  const oldest = sizes[end - 1];
  if (oldest === undefined) return;
  const { at, name } = oldest;
  const old = db
    .deleteFrom('runEntries')
    .where('accountId', '=', accountId)
    .where((where) => where.or([where('at', '<', at), where.and([where('at', '=', at), where('name', '<', name)])]));
  await (run === undefined ? old : old.where('run', '=', run)).execute();
}

/** Memory of runs. */
export function sqlRuns(connection: Connection): RunStore {
  const { db, pepper } = connection;
  let calls = 0;
  return {
    async read(accountId, runId) {
      const all = db.selectFrom('runEntries').select('entry').where('accountId', '=', accountId);
      const own = all.where('run', '=', runId).orderBy('at', 'desc').orderBy('name', 'desc');
      const rows = await own.limit(RUN_BOUND.entries).execute();
      const seed = createHmac('sha256', pepper).update(`run\0${accountId}\0${runId}`).digest().readUInt32BE();
      return { seed, entries: rows.map(({ entry }) => entry).reverse() };
    },
    async add(accountId, run, entries) {
      if (entries.length === 0) return;
      const at = connection.now();
      const rows = entries.map(({ name, line }) => ({ accountId, run, name, at, bytes: line.length, entry: line }));
      const put = db.insertInto('runEntries').values(rows);
      await put.onConflict((conflict) => conflict.doNothing()).execute();
      await trim(connection, accountId, run, RUN_BOUND);
      calls = (calls + 1) % COUNTED_CALLS;
      if (calls === 0) await trim(connection, accountId, undefined, ACCOUNT_BOUND);
    },
    async purge(before) {
      await db.deleteFrom('runEntries').where('at', '<', before).execute();
    },
  };
}
