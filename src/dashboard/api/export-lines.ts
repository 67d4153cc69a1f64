import { stringify } from 'csv-stringify/sync';
import type { DashboardStore, RecordFilter, RecordView } from '../ports.js';

const pageSize = 500;
const columns = [
  ...['id', 'time', 'verdict', 'rule', 'score', 'threshold', 'decided_by', 'mode', 'router_level', 'label', 'key_id'],
  ...['rules_version', 'ml_version', 'latency_ms', 'length', 'sha256', 'input_kept', 'text'],
] as const;

/** The records that fit, newest first, page by page, as JSON lines or as CSV with a head. Holds one page at a time. */
export async function* exportLines(
  store: DashboardStore,
  accountId: string,
  filter: RecordFilter,
  format: 'jsonl' | 'csv',
): AsyncGenerator<string, void, undefined> {
  if (format === 'csv') yield `${columns.join(',')}\r\n`;
  let cursor: string | null = null;
  do {
    const page = await store.records(accountId, filter, cursor, pageSize);
    if (page === undefined) throw new Error("the list doesn't take its own cursor");
    const lines =
      format === 'csv' ? toCsv(page.records) : page.records.map((record) => `${JSON.stringify(record)}\n`).join('');
    if (lines !== '') yield lines;
    cursor = page.next;
  } while (cursor !== null);
}

function toCsv(records: readonly RecordView[]): string {
  const rows = records.map(({ verdict, input, ...record }) => [
    ...[record.id, record.time, verdict.verdict, verdict.rule, verdict.score, verdict.threshold],
    ...[verdict.decided_by, verdict.mode, record.router_level, record.label ?? '', record.key_id ?? ''],
    ...[verdict.rules_version, verdict.ml_version, verdict.latency_ms, input.length, input.sha256, input.kept],
    input.text ?? '',
  ]);
  // A cell that a spreadsheet would run as a formula gets an apostrophe in front.
  return stringify(rows, { escape_formulas: true, record_delimiter: 'windows' });
}
