import { sql } from 'kysely';
import type { Overlay } from '../../../engine/rules/pack/overlay-schema.js';
import type { OverlayStore, OverlayVersion } from '../../account-store.js';
import { StoreError } from '../../store-error.js';
import type { Connection } from '../connection.js';
import type { Tables } from '../tables.js';

const toVersion = (row: Tables['account_overlays']): OverlayVersion => ({
  number: row.number,
  source: row.source,
  overlay: JSON.parse(row.overlay) as Overlay,
  note: row.note,
  rulesVersion: row.rules_version,
  actor: row.actor,
  createdAt: row.created_at,
});

/** Overlays of accounts in SQL. The one in force stands with the account's settings too: a call reads no other row. */
export function sqlOverlays({ db, now, transaction }: Connection): OverlayStore {
  return {
    apply: (accountId, { source, overlay, note, rulesVersion, actor }) =>
      transaction(async (inside) => {
        // The account's row is locked first: two changes at once get two numbers.
        const locked = inside.updateTable('accounts').set({ settings: sql`settings` }).where('id', '=', accountId);
        const account = await locked.returning('settings').executeTakeFirst();
        if (!account) throw new StoreError('STORE_NOT_FOUND', `no account "${accountId}"`);
        const last = await inside
          .selectFrom('account_overlays')
          .select(({ fn }) => fn.max('number').as('number'))
          .where('account_id', '=', accountId)
          .executeTakeFirst();
        const row = {
          account_id: accountId,
          number: Number(last?.number ?? 0) + 1,
          source,
          overlay: JSON.stringify(overlay),
          note,
          rules_version: rulesVersion,
          actor,
          created_at: now(),
        };
        await inside.insertInto('account_overlays').values(row).execute();
        const settings = { ...(JSON.parse(account.settings) as object), overlay: { number: row.number, overlay } };
        const changed = inside.updateTable('accounts').set({ settings: JSON.stringify(settings) });
        await changed.where('id', '=', accountId).execute();
        return toVersion(row);
      }),
    async list(accountId, limit) {
      const rows = db.selectFrom('account_overlays').selectAll().where('account_id', '=', accountId);
      return (await rows.orderBy('number', 'desc').limit(limit).execute()).map(toVersion);
    },
    async get(accountId, number) {
      const rows = db.selectFrom('account_overlays').selectAll().where('account_id', '=', accountId);
      const row = await rows.where('number', '=', number).executeTakeFirst();
      return row && toVersion(row);
    },
  };
}
