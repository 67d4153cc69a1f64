import type { EvidenceRecord } from '../../../evidence/evidence-record.js';
import { type Connection, sqlNotes } from '../connection.js';

import { keyedInput } from './evidence-row.js';

const NOTE_NAME = 'evidence-digests';
const BATCH = 500;

/**
 * Records of 1.0 whose text isn't kept whole have its plain SHA-256: it becomes a keyed digest, the same that a new record
 * of this text gets. Once, at the first start after the upgrade. `compact` takes off the disk
 * what moved rows leave behind.
 */
export async function keyOldDigests(
  { db, pepper, transaction }: Connection,
  compact: () => Promise<void>,
): Promise<void> {
  const notes = sqlNotes({ db });
  const noted = await notes.get(NOTE_NAME);
  if (noted === 'keyed') return;
  let isChanged = noted === 'compact';
  for (let after: string | undefined = ''; after !== undefined; ) {
    const rows: readonly { readonly id: string; readonly record: string }[] = await db
      .selectFrom('evidence')
      .select(['id', 'record'])
      .where('id', '>', after)
      .where((where) =>
        where.or([where('record', 'like', '%"kept":"masked"%'), where('record', 'like', '%"kept":"hash"%')]),
      )
      .orderBy('id')
      .limit(BATCH)
      .execute();
    isChanged ||= rows.length > 0;
    if (isChanged && noted === undefined) await notes.set(NOTE_NAME, 'compact');
    await transaction(async (inside) => {
      for (const { id, record } of rows) {
        const kept = JSON.parse(record) as EvidenceRecord;
        const input = keyedInput(kept.input, pepper);
        if (input === kept.input) continue;
        const changed = inside.updateTable('evidence').set({ record: JSON.stringify({ ...kept, input }) });
        // Another replica may have been faster.
        await changed.where('id', '=', id).where('record', '=', record).execute();
      }
    });
    after = rows.length < BATCH ? undefined : rows.at(-1)?.id;
  }
  if (isChanged) await compact();
  await notes.set(NOTE_NAME, 'keyed');
}
