import type { Database } from 'better-sqlite3';
import type { Ballast } from './ballast.js';

/** Everything that SQLite can verify, the search index too; one line for each fault. */
export function embeddedCheck(db: Database, ballast: Ballast): readonly string[] {
  const problems: string[] = [];
  const found = db.pragma('integrity_check') as readonly { readonly integrity_check: string }[];
  problems.push(...found.map((row) => row.integrity_check).filter((line) => line !== 'ok'));
  const orphans = db.pragma('foreign_key_check') as readonly { readonly table: string }[];
  problems.push(...orphans.map((row) => `${row.table}: a row refers to one that isn't there`));
  try {
    db.prepare("INSERT INTO evidence_search (evidence_search) VALUES ('integrity-check')").run();
  } catch (error) {
    problems.push(`search index: ${error instanceof Error ? error.message : 'unknown error'}`);
  }
  if (!ballast.there) problems.push('the disk is full');
  return problems;
}
