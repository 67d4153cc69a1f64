import { createHmac } from 'node:crypto';
import type { RunStore } from '../../store.js';
import type { Connection } from '../connection.js';

/** Entries of a run and of an account, and their bytes. */
const RUN_BOUND: Bound = { entries: 1_000, bytes: 512 * 1024 };
const ACCOUNT_BOUND: Bound = { entries: 20_000, bytes: 32 * 1024 * 1024 };
/** An account is counted with one in so many calls, since that takes as long as it has entries. */
const COUNTED_CALLS = 16;

interface Bound {
  readonly entries: number;
  readonly bytes: number;
}

/** Memory of runs, in SQL. */
export function sqlRuns({ db, now, pepper }: Connection): RunStore {
  let calls = 0;

  /** Deletes what is beyond a bound, the oldest first. */
  async function trim(accountId: string, run: string | undefined, bound: Bound): Promise<void> {
    const all = db.selectFrom('run_entries').where('account_id', '=', accountId);
    const own = run === undefined ? all : all.where('run', '=', run);
    const sizes = await own
      .select(['at', 'name', 'bytes'])
      .orderBy('at', 'desc')
      .orderBy('name', 'desc')
      .limit(bound.entries + 1)
      .execute();
    let left = bound.bytes;
    const end = sizes.findIndex(({ bytes }, index) => {
      left -= bytes;
      return index >= bound.entries || (left < 0 && index > 0);
    });
    const oldest = sizes[end - 1];
    if (oldest === undefined) return;
    const old = db
      .deleteFrom('run_entries')
      .where('account_id', '=', accountId)
      .where((where) =>
        where.or([
          where('at', '<', oldest.at),
          where.and([where('at', '=', oldest.at), where('name', '<', oldest.name)]),
        ]),
      );
    await (run === undefined ? old : old.where('run', '=', run)).execute();
  }

  return {
    async read(accountId, runId) {
      const rows = await db
        .selectFrom('run_entries')
        .select('entry')
        .where('account_id', '=', accountId)
        .where('run', '=', runId)
        .orderBy('at', 'desc')
        .orderBy('name', 'desc')
        .limit(RUN_BOUND.entries)
        .execute();
      const seed = createHmac('sha256', pepper).update(`run\0${accountId}\0${runId}`).digest().readUInt32BE();
      return { seed, entries: rows.map(({ entry }) => entry).reverse() };
    },
    async add(accountId, runId, entries) {
      const at = now();
      const rows = entries.map(({ name, line }) => ({
        ...{ account_id: accountId, run: runId, name, at, bytes: line.length, entry: line },
      }));
      if (rows.length === 0) return;
      const put = db.insertInto('run_entries').values(rows);
      await put.onConflict((conflict) => conflict.doNothing()).execute();
      await trim(accountId, runId, RUN_BOUND);
      calls = (calls + 1) % COUNTED_CALLS;
      if (calls === 0) await trim(accountId, undefined, ACCOUNT_BOUND);
    },
    async purge(before) {
      await db.deleteFrom('run_entries').where('at', '<', before).execute();
    },
  };
}
