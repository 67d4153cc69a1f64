import type { VersionStore } from '../version-store.js';
import type { Connection } from './connection.js';

/** Versions of rules and models in SQL. */
export function sqlVersions({ db, now }: Connection): VersionStore {
  return {
    async put(kind, version, file, bytes) {
      await db
        .insertInto('versions')
        .values({ kind, version, file, bytes: Buffer.from(bytes), stored_at: now() })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    },
    async names(kind, version) {
      const files = db.selectFrom('versions').select('file').where('kind', '=', kind).where('version', '=', version);
      return (await files.orderBy('file').execute()).map(({ file }) => file);
    },
    async get(kind, version) {
      const files = db.selectFrom('versions').select(['file', 'bytes']).where('kind', '=', kind);
      const rows = await files.where('version', '=', version).orderBy('file').execute();
      return rows.length === 0 ? undefined : new Map(rows.map(({ file, bytes }) => [file, bytes]));
    },
    async list(kind) {
      const rows = await db
        .selectFrom('versions')
        .select(({ fn }) => ['version', fn.min('stored_at').as('storedAt')])
        .where('kind', '=', kind)
        .groupBy('version')
        .execute();
      return rows
        .map((row) => ({ version: row.version, storedAt: Number(row.storedAt) }))
        .sort((a, b) => a.storedAt - b.storedAt);
    },
  };
}
