import { newEvidenceId } from '../adapters/evidence-id.js';
import type { ChangedVerdict, OverlayPreview } from '../dashboard/ports.js';
import { orderedMap } from '../engine/limit.js';
import type { Verdict } from '../engine/verdict.js';
import type { EvidenceRecord } from '../evidence/evidence-record.js';
import { recordedCall } from '../evidence/replay.js';
import type { Store } from '../store/store.js';
import type { AccountChange } from './screening/account-overlays.js';
import type { ScreeningEngine } from './screening/ports.js';
import { bareVerdict } from './screening/screen-call.js';

interface PreviewParts {
  readonly store: Pick<Store, 'evidence'>;
  readonly engine: ScreeningEngine;
  readonly now: () => Date;
}

/** A recorded call with its verdict now and under the draft. */
interface Pair {
  readonly record: EvidenceRecord;
  readonly now: Verdict;
  readonly draft: Verdict;
}

const DAY = 86_400_000;
const MARKED_DAYS = 90;
/** Records of each kind that are looked at: the newest ones, and those of each mark. */
const MOST_NEWEST = 200;
const MOST_MARKED = 100;
/** All their texts together, UTF-16 code units: a preview isn't charged. */
const MOST_CHARACTERS = 1_000_000;
const CALLS_AT_ONCE = 2;
const MOST_LISTED = 50;

const BENIGN_LABELS = new Set(['false_alarm', 'correct_allow']);

/** Previews the decisions of another overlay on the newest calls of an account and on those that were marked. */
export async function previewOverlay(
  { store, engine, now }: PreviewParts,
  accountId: string,
  { before, after }: { readonly before: AccountChange | undefined; readonly after: AccountChange | undefined },
): Promise<OverlayPreview> {
  const from = now().getTime() - MARKED_DAYS * DAY;
  const marked = await Promise.all(
    (['false_alarm', 'correct_allow', 'correct_block', 'missed_attack'] as const).map((label) =>
      store.evidence.list(accountId, { label, from }, null, MOST_MARKED),
    ),
  );
  const newest = await store.evidence.list(accountId, {}, null, MOST_NEWEST);
  const all = [...marked, newest].flatMap(({ records }) => records);
  const distinct = [...new Map(all.map((record) => [record.id, record])).values()];
  let characters = 0;
  const readable = distinct.filter((record) => {
    if ('missing' in recordedCall(record)) return false;
    characters += record.input.length;
    return characters <= MOST_CHARACTERS;
  });

  const screen = async (record: EvidenceRecord, overlay: AccountChange | undefined): Promise<Verdict> => {
    const found = recordedCall(record);
    if ('missing' in found) throw new Error('a record without its text was chosen');
    const { input, channel, task } = found;
    const { change } = overlay ?? {};
    return bareVerdict(
      await engine.score(input, {
        ...{ explain: true, evidenceId: newEvidenceId(), tenant: accountId, channel, task, change },
        mode: engine.info.mode,
      }),
    );
  };
  const present = before?.change.rulesVersion ?? engine.info.rules_version;
  const isPresent = ({ verdict }: EvidenceRecord): boolean =>
    verdict.rules_version === present &&
    verdict.mode === engine.info.mode &&
    verdict.decided_by !== 'ml-error-rules-fallback';

  const pairs: Pair[] = [];
  const compare = async (record: EvidenceRecord) => ({
    record,
    // What was decided under the same settings needn't be asked again.
    now: isPresent(record) ? record.verdict : await screen(record, before),
    draft: await screen(record, after),
  });
  for await (const pair of orderedMap(readable, compare, { items: CALLS_AT_ONCE })) pairs.push(pair);
  return { ...summary(pairs), unread: distinct.length - readable.length };
}

function summary(pairs: readonly Pair[]): Omit<OverlayPreview, 'unread'> {
  const blocks = (of: 'now' | 'draft', some = pairs): number => some.filter((it) => it[of].verdict === 'block').length;
  const benign = pairs.filter(({ record }) => record.label !== null && BENIGN_LABELS.has(record.label));
  const attacks = pairs.filter(({ record }) => record.label !== null && !BENIGN_LABELS.has(record.label));
  const times = [...benign, ...attacks].map(({ record }) => Date.parse(record.time));
  const changed = pairs.filter((it) => it.now.verdict !== it.draft.verdict);
  return {
    screened: pairs.length,
    blocks: { now: blocks('now'), draft: blocks('draft') },
    marks: {
      ...{ benign: benign.length, attacks: attacks.length },
      days: times.length === 0 ? 0 : Math.max(1, Math.ceil((Math.max(...times) - Math.min(...times)) / DAY)),
      falsePositives: { now: blocks('now', benign), draft: blocks('draft', benign) },
      missed: {
        now: attacks.length - blocks('now', attacks),
        draft: attacks.length - blocks('draft', attacks),
      },
    },
    changed: changed.slice(0, MOST_LISTED).map(listed),
    moreChanged: Math.max(0, changed.length - MOST_LISTED),
  };
}

function listed(pair: Pair): ChangedVerdict {
  const side = ({ verdict, rule }: Verdict) => ({ verdict, rule });
  const { id, time, label } = pair.record;
  return { id, time, label, now: side(pair.now), draft: side(pair.draft) };
}
