import { sql } from 'kysely';
import type { EvidenceLabel } from '../../evidence/evidence-record.js';
import { StoreError } from '../store-error.js';
import type { Connection } from './connection.js';
import { recordOf, rowOf, versionOf } from './evidence-row.js';

/** Labels a record and moves the counts of its versions with it, in one transaction. @throws StoreError STORE_NOT_FOUND */
export async function labelEvidence(
  { transaction }: Connection,
  accountId: string,
  id: string,
  label: EvidenceLabel | null,
): Promise<void> {
  await transaction(async (inside) => {
    const own = inside.updateTable('evidence').where('id', '=', id).where('account_id', '=', accountId);
    // The row is locked by this write before it is read: two labels at once are counted one after the other.
    const row = await own.set({ label: sql`label` }).returning(['record', 'text', 'label']).executeTakeFirst();
    if (!row) throw new StoreError('STORE_NOT_FOUND', `no evidence "${id}" in this account`);
    await own.set({ label }).execute();
    const counted = rowOf(recordOf(row));
    const [before, after] = [versionOf(counted), versionOf({ ...counted, label })];
    await inside
      .updateTable('evidence_versions')
      .set({
        false_alarms: sql`false_alarms + ${after.false_alarms - before.false_alarms}`,
        missed_attacks: sql`missed_attacks + ${after.missed_attacks - before.missed_attacks}`,
      })
      .where('account_id', '=', accountId)
      .where('rules_version', '=', after.rules_version)
      .where('ml_version', '=', after.ml_version)
      .where('rule', '=', after.rule)
      .execute();
  });
}
