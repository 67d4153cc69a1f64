import type { Expression, ExpressionBuilder, SqlBool } from 'kysely';
import type { EvidenceRecord } from '../../../evidence/evidence-record.js';
import { type Connection, evidenceDb, sqlNotes } from '../connection.js';
import type { EvidenceTables } from '../tables.js';
import { keyedTexts } from './evidence-row.js';

const BATCH = 500;

interface OldRecord {
  readonly id: string;
  readonly record: string;
}

/** The records that a condition names, a batch at a time. */
async function* batches(
  { db }: Pick<Connection, 'db'>,
  condition: (where: ExpressionBuilder<EvidenceTables, 'evidence'>) => Expression<SqlBool>,
): AsyncGenerator<readonly OldRecord[]> {
  for (let after: string | undefined = ''; after !== undefined; ) {
    const rows: readonly OldRecord[] = await evidenceDb(db)
      .selectFrom('evidence')
      .select(['id', 'record'])
      .where('id', '>', after)
      .where(condition)
      .orderBy('id')
      .limit(BATCH)
      .execute();
    yield rows;
    after = rows.length < BATCH ? undefined : rows.at(-1)?.id;
  }
}

/** Brings records of earlier versions up to date, once: at the first start after the upgrade. @see keyOldDigests, fillChannels */
export async function updateOldRecords(connection: Connection, compact: () => Promise<void>): Promise<void> {
  await keyOldDigests(connection, compact);
  await fillChannels(connection);
}

const DIGESTS = 'evidence-digests';

/**
 * Records of 1.0 whose text isn't kept whole have its plain SHA-256: it becomes a keyed digest, the same that a new record
 * of this text gets. `compact` takes off the disk what moved rows leave behind.
 */
async function keyOldDigests(connection: Connection, compact: () => Promise<void>): Promise<void> {
  const notes = sqlNotes(connection);
  const noted = await notes.get(DIGESTS);
  if (noted === 'keyed') return;
  let isChanged = noted === 'compact';
  const unkeyed = batches(connection, (where) =>
    where.or([where('record', 'like', '%"kept":"masked"%'), where('record', 'like', '%"kept":"hash"%')]),
  );
  for await (const rows of unkeyed) {
    isChanged ||= rows.length > 0;
    if (isChanged && noted === undefined) await notes.set(DIGESTS, 'compact');
    await connection.transaction(async (inside) => {
      for (const { id, record } of rows) {
        const kept = JSON.parse(record) as EvidenceRecord;
        const keyed = keyedTexts(kept, connection.pepper);
        if (keyed.input === kept.input) continue;
        const changed = evidenceDb(inside)
          .updateTable('evidence')
          .set({ record: JSON.stringify(keyed) });
        // Another replica may have been faster.
        await changed.where('id', '=', id).where('record', '=', record).execute();
      }
    });
  }
  if (isChanged) await compact();
  await notes.set(DIGESTS, 'keyed');
}

const CHANNELS = 'evidence-channels';

/** Records of before 1.5 have their channel in the record alone: the column that lists are filtered by is filled. */
async function fillChannels(connection: Connection): Promise<void> {
  const notes = sqlNotes(connection);
  if ((await notes.get(CHANNELS)) === 'filled') return;
  for await (const rows of batches(connection, (where) => where('channel', 'is', null))) {
    const ids = new Map<string, string[]>();
    for (const { id, record } of rows) {
      const { channel } = JSON.parse(record) as EvidenceRecord;
      ids.set(channel, [...(ids.get(channel) ?? []), id]);
    }
    await connection.transaction(async (inside) => {
      for (const [channel, some] of ids)
        await evidenceDb(inside).updateTable('evidence').set({ channel }).where('id', 'in', some).execute();
    });
  }
  await notes.set(CHANNELS, 'filled');
}
