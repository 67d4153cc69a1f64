import type { Overlay } from '../../../engine/rules/pack/overlay-schema.js';
import type { OverlayStore, OverlayVersion } from '../../account-store.js';
import { lockSettings } from '../accounts/accounts.js';
import type { Queries } from '../connection.js';
import type { Tables } from '../tables.js';

const SHOWN = ['number', 'source', 'overlay', 'note', 'rulesVersion', 'actor', 'createdAt'] as const;

const toVersion = (row: Pick<Tables['accountOverlays'], (typeof SHOWN)[number]>): OverlayVersion => ({
  ...row,
  overlay: JSON.parse(row.overlay) as Overlay,
});

/** Overlays of accounts. The one in force stands with the account's settings too: a call reads no other row. */
export const overlays: Queries<OverlayStore> = {
  apply: ({ now, transaction }, accountId, { source, overlay, note, rulesVersion, actor }) =>
    transaction(async (db) => {
      // The account's row is locked first: two changes at once get two numbers.
      const settings = await lockSettings({ db }, accountId);
      const last = db.selectFrom('accountOverlays').select(({ fn }) => fn.max('number').as('number'));
      const newest = await last.where('accountId', '=', accountId).executeTakeFirst();
      const number = Number(newest?.number ?? 0) + 1;
      const version = { number, source, overlay, note, rulesVersion, actor, createdAt: now() };
      await db
        .insertInto('accountOverlays')
        .values({ ...version, accountId, overlay: JSON.stringify(overlay) })
        .execute();
      const changed = db
        .updateTable('accounts')
        .set({ settings: JSON.stringify({ ...settings, overlay: { number, overlay } }) });
      await changed.where('id', '=', accountId).execute();
      return version;
    }),
  async list({ db }, accountId, limit) {
    const rows = db.selectFrom('accountOverlays').select(SHOWN).where('accountId', '=', accountId);
    return (await rows.orderBy('number', 'desc').limit(limit).execute()).map(toVersion);
  },
};
