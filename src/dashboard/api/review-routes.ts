import type { EvidenceStore } from '../../store/evidence-store.js';
import type { Label, RecordView, ReviewResult } from '../ports.js';
import type { ApiApp, DashboardParts } from './api-parts.js';
import { getMember } from './sign-in/session.js';

const DAY = 86_400_000;
/** Marks older than this say little about the present traffic. */
const MARKED_DAYS = 90;
/** Records read at most for one response: marks of each kind, and allowed calls. */
const MOST_READ = 2_000;
/** UTF-16 code units of their texts and flows together. */
const MOST_CHARACTERS = 16 * 1024 * 1024;
const QUEUE_LENGTH = 25;
const EXCERPT_LENGTH = 2_000;
/** Thresholds shown in addition to the present one. */
const MOST_POINTS = 6;

/** Routes for records to review and statistics of the marks. Marks themselves are set on `/evidence/:id/label`. */
export function reviewRoutes(app: ApiApp, { store, now }: DashboardParts): void {
  app.get('/review/near', async (request) => {
    const filter = { verdict: 'allow', label: null, from: now() - MARKED_DAYS * DAY } as const;
    const { accountId } = getMember(request);
    const { picked } = await newestRecords(store.evidence, accountId, filter, (record) =>
      nearness(record) > 0 ? shortened(record) : undefined,
    );
    return { records: picked.sort((a, b) => nearness(b) - nearness(a)).slice(0, QUEUE_LENGTH) };
  });

  app.get('/review/result', async (request) => {
    const { accountId } = getMember(request);
    const from = now() - MARKED_DAYS * DAY;
    const of = async (label: Label) =>
      (await newestRecords(store.evidence, accountId, { label, from }, ({ time, rules }) => ({ time, rules }))).picked;
    // One after another, so that one page is in memory, not four.
    return reviewResult({
      correct_block: await of('correct_block'),
      false_alarm: await of('false_alarm'),
      correct_allow: await of('correct_allow'),
      missed_attack: await of('missed_attack'),
    });
  });
}

/**
 * Reads the newest records that fit a filter, as many as one response may, and keeps what `pick` takes of each: a page of whole
 * records is gone before the next is read.
 */
export async function newestRecords<T>(
  evidence: EvidenceStore,
  accountId: string,
  filter: Parameters<EvidenceStore['list']>[1],
  pick: (record: RecordView) => T | undefined,
): Promise<{ readonly picked: T[]; readonly isWhole: boolean }> {
  const picked: T[] = [];
  let read = 0;
  let characters = 0;
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<EvidenceStore['list']>> = await evidence.list(accountId, filter, cursor, 500);
    picked.push(...page.records.flatMap((record) => pick(record) ?? []));
    read += page.records.length;
    characters += page.records.reduce(
      (sum, { input, run }) => sum + (input.text?.length ?? 0) + lengthOf(run?.flow?.flows),
      0,
    );
    cursor = page.next;
  } while (cursor !== null && read < MOST_READ && characters < MOST_CHARACTERS);
  return { picked, isWhole: cursor === null };
}

/** UTF-16 code units of flows as JSON. */
export function lengthOf(flows: readonly object[] = []): number {
  return flows.reduce((sum, flow) => sum + JSON.stringify(flow).length, 0);
}

/** Measures how close an allowed call came to a block: the larger of its scores as a share of the threshold. */
function nearness({ rules, model, verdict }: RecordView): number {
  return Math.max(rules.score / rules.threshold, (model.score ?? 0) / verdict.ml_threshold);
}

/** A record for a list: a long text is cut to the surroundings of its first finding, the spans with it. */
export function shortened(record: RecordView): RecordView {
  const { text } = record.input;
  if (text === null || text.length <= EXCERPT_LENGTH) return record;
  const spans = [...record.findings.map((it) => it.span), ...record.model.hotspots];
  const first = Math.min(...spans.map(({ start }) => start), text.length);
  const start = spans.length === 0 ? 0 : Math.max(0, first - 200);
  const move = <T extends { readonly start: number; readonly end: number }>(span: T): T => ({
    ...span,
    start: Math.max(0, span.start - start),
    end: Math.max(0, span.end - start),
  });
  return {
    ...record,
    // A copy, since a slice keeps the whole text alive.
    input: { ...record.input, text: structuredClone(text.slice(start, start + EXCERPT_LENGTH)) },
    findings: record.findings.map((it) => ({ ...it, span: move(it.span) })),
    model: { ...record.model, hotspots: record.model.hotspots.map(move) },
  };
}

/** Returns the verdicts of the rules alone on the marked calls at several thresholds. */
export function reviewResult(
  marked: Readonly<Record<Label, readonly Pick<RecordView, 'time' | 'rules'>[]>>,
): ReviewResult {
  const all = Object.values(marked).flat();
  const times = all.map(({ time }) => Date.parse(time));
  const newestRecord = all.reduce<Pick<RecordView, 'time' | 'rules'> | undefined>(
    (last, it) => (last === undefined || it.time > last.time ? it : last),
    undefined,
  );
  const threshold = newestRecord?.rules.threshold ?? 1;
  const benign = [...marked.false_alarm, ...marked.correct_allow].map((it) => it.rules.score);
  const attacks = [...marked.correct_block, ...marked.missed_attack].map((it) => it.rules.score);
  // Just above each benign score that blocks now, and just at each attack's score that doesn't.
  const raised = benign.filter((it) => it >= threshold).map((it) => Math.ceil(it * 1000 + 1) / 1000);
  const lowered = attacks.filter((it) => it > 0 && it < threshold).map((it) => Math.floor(it * 1000) / 1000);
  const candidates = [...new Set([...raised, ...lowered])].filter((it) => it > 0 && it <= 1);
  const pointAt = (at: number): ReviewResult['points'][number] => ({
    threshold: at,
    falsePositives: benign.filter((it) => it >= at).length,
    missed: attacks.filter((it) => it < at).length,
  });
  const points = candidates
    .map(pointAt)
    .sort((a, b) => a.falsePositives + a.missed - b.falsePositives - b.missed)
    .slice(0, MOST_POINTS);
  return {
    marks: {
      correct_block: marked.correct_block.length,
      false_alarm: marked.false_alarm.length,
      correct_allow: marked.correct_allow.length,
      missed_attack: marked.missed_attack.length,
    },
    days: times.length === 0 ? 0 : Math.max(1, Math.ceil((Math.max(...times) - Math.min(...times)) / DAY)),
    threshold,
    points: [pointAt(threshold), ...points].sort((a, b) => a.threshold - b.threshold),
  };
}
