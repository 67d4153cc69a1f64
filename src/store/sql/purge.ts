import { accountOf } from './accounts.js';
import type { Connection } from './connection.js';
import type { EvidenceOwn } from './evidence.js';
import { firstSeq } from './evidence-row.js';

const dayMs = 86_400_000;
const batch = 200;
const eventDays = 90;

/** Deletes what retention doesn't keep, in small steps so that screening goes on, and what has expired. Gives the records' number. */
export async function purgeEvidence({ db }: Connection, own: EvidenceOwn, now: number): Promise<number> {
  let purged = 0;
  for (const account of (await db.selectFrom('accounts').selectAll().execute()).map(accountOf)) {
    const before = firstSeq(now - account.settings.retentionDays * dayMs);
    let deleted: number;
    do {
      deleted = await own.deleteBefore(account.id, before, batch);
      purged += deleted;
    } while (deleted === batch);
  }
  await db.deleteFrom('sessions').where('expires_at', '<=', now).execute();
  await db.deleteFrom('invitations').where('expires_at', '<=', now).execute();
  await db
    .deleteFrom('seen_events')
    .where('seen_at', '<', now - eventDays * dayMs)
    .execute();
  return purged;
}
