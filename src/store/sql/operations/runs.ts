import { createHmac } from 'node:crypto';
import { type OnConflictBuilder, sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { RunText } from '../../../policy/run/run-state.js';
import type { RunStore } from '../../store.js';
import type { Connection } from '../connection.js';
import type { Tables } from '../tables.js';

interface Bound {
  readonly entries: number;
  readonly bytes: number;
}

const RUN_TEXTS: Readonly<Record<RunText['kind'], number>> = { read: 32, said: 8 };
const RUN_BOUND: Bound = { entries: 1_000, bytes: 512 * 1024 };
const ACCOUNT_BOUND: Bound = { entries: 20_000, bytes: 32 * 1024 * 1024 };
/** An account is counted each time so many entries were added, since that takes as long as it has entries. */
const COUNTED_ENTRIES = 16;
/** Accounts whose added entries are remembered. */
const COUNTED_ACCOUNTS = 10_000;
/** Entries that are deleted in one step, about three milliseconds, and its cost among the other long work of the process. */
const STEP_ENTRIES = 1_000;
const STEP_BYTES = 128 * 1024;

/** The order of a run's entries: an expression, or SQLite goes through all entries of the account for the sake of an index. */
const runOrder = sql<number>`+at`;

async function trim(connection: Connection, accountId: string, run: string | undefined, bound: Bound): Promise<void> {
  const step = (): Promise<boolean> => trimStep(connection, accountId, run, bound);
  for (let isMore = await step(); isMore; ) isMore = await connection.longWork(accountId, STEP_BYTES, step);
}

/** Deletes the oldest entries beyond a bound, as many as one step may; gives whether there are more. The newest one always stays. */
async function trimStep(
  { db }: Connection,
  accountId: string,
  run: string | undefined,
  bound: Bound,
): Promise<boolean> {
  const all = db.selectFrom('runEntries').where('accountId', '=', accountId);
  const own = run === undefined ? all : all.where('run', '=', run);
  const { entries, bytes } = await own
    .select(({ fn }) => [fn.countAll().as('entries'), fn.sum('bytes').as('bytes')])
    .executeTakeFirstOrThrow();
  const over = { entries: Number(entries) - bound.entries, bytes: Number(bytes) - bound.bytes };
  const isOver = (): boolean => over.entries > 0 || over.bytes > 0;
  if (!isOver()) return false;
  const inOrder = own.select(['at', 'name', 'bytes']).orderBy(run === undefined ? 'at' : runOrder);
  const oldest = await inOrder
    .orderBy('name')
    .limit(STEP_ENTRIES + 1)
    .execute();
  const firstKept = oldest.find((entry) => {
    if (!isOver()) return true;
    over.entries -= 1;
    over.bytes -= entry.bytes;
    return false;
  });
  const end = firstKept ?? oldest.at(-1);
  if (end === undefined) return false;
  const { at, name } = end;
  const old = db
    .deleteFrom('runEntries')
    .where('accountId', '=', accountId)
    .where((where) => where.or([where('at', '<', at), where.and([where('at', '=', at), where('name', '<', name)])]));
  const { numDeletedRows } = await (run === undefined ? old : old.where('run', '=', run)).executeTakeFirst();
  return firstKept === undefined && numDeletedRows > 0;
}

/** The rows of a run, newest first. A text has the name of its kind and a key, an entry a number. */
function newestRows({ db }: Connection, accountId: string, run: string) {
  const own = db.selectFrom('runEntries').where('accountId', '=', accountId).where('run', '=', run);
  return own.orderBy(runOrder, 'desc').orderBy('name', 'desc');
}

/** Makes a text that is there already the newest, but for a result. */
function newest(known: OnConflictBuilder<Tables, 'runEntries'>, at: number) {
  const moved = known.columns(['accountId', 'run', 'name']).doUpdateSet({ at });
  return moved.where('runEntries.name', 'not like', 'read:%').where('runEntries.at', '<', at);
}

// Long: one method for each operation of the port.
export function sqlRuns(connection: Connection): RunStore {
  const { db, pepper } = connection;
  const added = new LRUCache<string, number>({ max: COUNTED_ACCOUNTS });
  const texts = (accountId: string, run: string, kind: string) =>
    newestRows(connection, accountId, run).where('name', 'like', `${kind}:%`).select(['at', 'name', 'entry']);
  /** The digest of a text alone would give a short one away. */
  const keyOf = (accountId: string, name: string): string =>
    createHmac('sha256', pepper).update(`text\0${accountId}\0${name}`).digest('hex');

  async function put(accountId: string, run: string, rows: readonly Entry[], isText = false): Promise<void> {
    const all = rows.map((row) => ({ ...row, accountId, run, bytes: row.entry.length }));
    const { at = 0 } = rows[0] ?? {};
    const inserted = db.insertInto('runEntries').values(all);
    await inserted.onConflict((known) => (isText ? newest(known, at) : known.doNothing())).execute();
    await trim(connection, accountId, run, RUN_BOUND);
    const uncounted = (added.get(accountId) ?? 0) + rows.length;
    const isDue = uncounted >= COUNTED_ENTRIES;
    added.set(accountId, isDue ? 0 : uncounted);
    if (isDue) await trim(connection, accountId, undefined, ACCOUNT_BOUND);
  }

  return {
    async read(accountId, runId) {
      const own = newestRows(connection, accountId, runId).where('name', 'not like', '%:%').select('entry');
      const rows = await own.limit(RUN_BOUND.entries).execute();
      const seed = createHmac('sha256', pepper).update(`run\0${accountId}\0${runId}`).digest().readUInt32BE();
      return { seed, entries: rows.map(({ entry }) => entry).reverse() };
    },
    async add(accountId, run, entries) {
      if (entries.length === 0) return;
      const at = connection.now();
      const rows = entries.map(({ name, line }) => ({ name, at, entry: line }));
      await put(accountId, run, rows);
    },
    async readTexts(accountId, run, sought = '') {
      const kinds = Object.entries(RUN_TEXTS).map(([kind, most]) => texts(accountId, run, kind).limit(most).execute());
      const rows = (await Promise.all(kinds))
        .flat()
        .sort((a, b) => Number(a.at) - Number(b.at) || (a.name < b.name ? -1 : 1));
      const tasks = await texts(accountId, run, 'task').execute();
      const taskOf = new Map(tasks.map(({ name, entry }) => [name, readText(entry).text]));
      return rows.map(({ name, entry }) => {
        const [kind, key = ''] = name.split(':');
        const { taskRow, ...text } = readText(entry);
        const task = taskRow === undefined ? text.task : taskOf.get(taskRow);
        return { ...text, kind: kind as RunText['kind'], name: key === keyOf(accountId, sought) ? sought : key, task };
      });
    },
    async addText(accountId, run, { kind, name, task, ...said }) {
      const last = await texts(accountId, run, '%').limit(1).executeTakeFirst();
      // Behind the last one by whatever clock.
      const at = Math.max(connection.now(), Number(last?.at ?? 0) + 1);
      const taskRow = task === undefined ? undefined : `task:${keyOf(accountId, task)}`;
      const row = { name: `${kind}:${keyOf(accountId, name)}`, at, entry: JSON.stringify({ ...said, taskRow }) };
      const tasks = taskRow === undefined ? [] : [{ name: taskRow, at, entry: JSON.stringify({ text: task }) }];
      await put(accountId, run, [row, ...tasks], true);
      const old = await texts(accountId, run, kind).offset(RUN_TEXTS[kind]).limit(1).executeTakeFirst();
      if (old === undefined) return;
      const all = db.deleteFrom('runEntries').where('accountId', '=', accountId).where('run', '=', run);
      const olds = all.where('at', '<=', old.at);
      // A task is as new as the last result that was read with it.
      for (const gone of kind === 'read' ? ['read', 'task'] : [kind])
        await olds.where('name', 'like', `${gone}:%`).execute();
    },
    async purge(before) {
      await db.deleteFrom('runEntries').where('at', '<', before).execute();
    },
  };
}

interface Entry {
  readonly name: string;
  readonly at: number;
  readonly entry: string;
}

/** A text as its row has it. Results that were read with the same task share the row of this name. */
interface TextEntry extends Omit<RunText, 'kind' | 'name'> {
  readonly taskRow?: string | undefined;
}

/** Reads the entry of a text; a former version stored the text itself. */
function readText(entry: string): TextEntry {
  try {
    const read: TextEntry | null = JSON.parse(entry);
    return typeof read?.text === 'string' ? read : { text: entry };
  } catch {
    return { text: entry };
  }
}
