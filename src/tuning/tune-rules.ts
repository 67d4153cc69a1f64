import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadPack } from '../adapters/packs/load-pack.js';
import { openPack } from '../adapters/packs/open-pack.js';
import type { CompiledPack, Rule } from '../engine/rules/types.js';
import { type Gains, groupBootstrap } from '../evaluation/metrics/bootstrap.js';
import { countFigures, type Figures } from '../evaluation/metrics/figures.js';
import { groupByChannel } from '../evaluation/report/evaluation.js';
import type { FamilyText, SplitRows } from '../evaluation/rows/split-rows.js';
import type { RulesReading } from '../evaluation/scoring/scan-text.js';
import { type RulesJob, scoreRules, TuningError } from '../evaluation/scoring/score-rules.js';
import { changesOverlay, chooseChanges, type RuleChange } from './choose-changes.js';
import { type RuleFigures, type RuleTexts, ruleCosts, ruleEvidence, ruleFigures, scoreLists } from './rule-figures.js';

/** The result of `tune` on labelled texts; `--json` prints it. Fields are only ever added. */
export interface TunedRules {
  readonly schema: 'portcullis.tuning/1';
  readonly date: string;
  readonly texts: readonly string[];
  readonly rulesVersion: string;
  readonly threshold: number;
  readonly maxFpr: number;
  readonly seed: number;
  /** Texts that the split left out, since near duplicates of theirs were chosen on. */
  readonly straddling: number;
  /** Texts of the choosing part whose score, worked out from their findings, differs from the scan's. */
  readonly rescoredOtherwise: number;
  readonly choose: TunedPart;
  readonly confirm: TunedPart;
  readonly changes: readonly RuleChange[];
  /** True where the part kept apart is better for the changes too, see `isBetter`. */
  readonly isConfirmed: boolean;
  /** On the choosing part, before the changes. */
  readonly rules: readonly RuleFigures[];
}

export interface RulesTuning {
  readonly packs?: readonly string[] | undefined;
  readonly overlays?: readonly string[] | undefined;
  readonly maxFpr: number;
  readonly support: number;
  readonly keepWeak: boolean;
  readonly seed: number;
  readonly date: string;
  readonly files: readonly string[];
  readonly onProgress?: ((what: string, done: number, of: number) => void) | undefined;
}

/** Texts that the rules' cost is measured on, at most, and their letters. */
const COST_TEXTS = 60;
const COST_LETTERS = 4_000;

function labelled(rows: readonly FamilyText[]): readonly FamilyText[] {
  return rows.filter(({ label }) => label !== undefined);
}

/** Texts for the rules' cost, spread over all of them. */
function describeSample(rows: readonly FamilyText[]): readonly string[] {
  const short = rows.filter(({ text }) => text.length <= COST_LETTERS);
  const step = Math.max(1, Math.floor(short.length / COST_TEXTS));
  return short
    .filter((_, i) => i % step === 0)
    .slice(0, COST_TEXTS)
    .map(({ text }) => text);
}

type Scan = (rows: readonly FamilyText[], what: string, job: Partial<RulesJob>) => Promise<readonly RulesReading[]>;

/**
 * Works out what every rule does, chooses changes on one part under the budget, and tells what they bring on the other.
 * @throws TuningError where a part lacks attacks or benign texts; PackError
 */
export async function tuneRules(split: SplitRows, tuning: RulesTuning): Promise<TunedRules> {
  const { packs, overlays, maxFpr, onProgress } = tuning;
  const [choose, confirm] = [labelled(split.choose), labelled(split.confirm)];
  requireBothLabels({ 'to choose on': choose, 'to confirm on': confirm });
  const options = { packs, overlays: overlays ?? [], today: tuning.date };
  const pack = openPack(options);
  const scan: Scan = (rows, what, job) =>
    scoreRules(rows, { packs, overlays, ...job, onProgress: (done) => onProgress?.(what, done, rows.length) });
  const findings = { withHits: true, paranoia: 3 } as const;
  const found = await scan(choose, 'findings, to choose on', findings);
  const given = ruleTexts(pack, choose, found);
  onProgress?.('choosing', 0, given.rules.length);
  const { support, keepWeak } = tuning;
  const changes = chooseChanges(given, { maxFpr, paranoia: pack.paranoia, support, keepWeak });
  onProgress?.('cost of the rules', 0, given.rules.length);
  const costs = ruleCosts(loadPack(options).pack, describeSample(choose));
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-tune-'));
  try {
    const overlay = join(folder, 'overlay.yaml');
    await writeFile(overlay, changesOverlay(changes));
    const changed: ChangedRules = {
      pack,
      overlays: [...options.overlays, overlay],
      rules: new Set(changes.map(({ rule }) => rule)),
    };
    const chosen = await measureChange(choose, found, changed, scan);
    const read = await scan(confirm, 'findings, to confirm on', findings);
    const { part: kept } = await measureChange(confirm, read, changed, scan);
    return {
      schema: 'portcullis.tuning/1',
      date: tuning.date,
      texts: tuning.files,
      rulesVersion: pack.rulesVersion,
      threshold: pack.threshold,
      maxFpr,
      seed: tuning.seed,
      straddling: split.straddling,
      rescoredOtherwise: given.texts.filter(
        (text, i) => scoreLists(text, given.scores) >= pack.threshold !== chosen.before[i],
      ).length,
      choose: chosen.part,
      confirm: kept,
      changes,
      isConfirmed: changes.length > 0 && isBetter(kept, maxFpr),
      rules: ruleFigures(given).map((figures) => ({ ...figures, micros: costs.get(figures.rule) ?? null })),
    };
  } finally {
    await rm(folder, { recursive: true });
  }
}

function requireBothLabels(parts: Readonly<Record<string, readonly FamilyText[]>>): void {
  for (const [name, part] of Object.entries(parts))
    for (const label of ['injection', 'benign'] as const)
      if (!part.some((row) => row.label === label))
        throw new TuningError(
          `There is no ${label === 'benign' ? 'benign text' : 'attack'} ${name}: tuning needs both in both parts.`,
        );
}

/** The texts with the findings of all rules but deprecated ones, and each rule's score in the pack. */
function ruleTexts(pack: CompiledPack, rows: readonly FamilyText[], readings: readonly RulesReading[]): RuleTexts {
  const rules = pack.rules.filter(({ status }) => status !== 'deprecated');
  const indexOf = new Map(rules.map(({ id }, i) => [id, i]));
  const isRun = ({ status, paranoia }: Rule): boolean => status === 'stable' && paranoia <= pack.paranoia;
  return {
    rules,
    scores: rules.map((rule) => (isRun(rule) ? rule.score : 0)),
    threshold: pack.threshold,
    texts: rows.map(({ label, family }, i) =>
      ruleEvidence({ isAttack: label === 'injection', family }, (readings[i] as RulesReading).hits, indexOf),
    ),
  };
}

/** The pack before the changes, the overlays after them, and the ids of the rules that they change. */
interface ChangedRules {
  readonly pack: CompiledPack;
  readonly overlays: readonly string[];
  readonly rules: ReadonlySet<string>;
}

/** A text in which no changed rule fires is decided as before; the others are screened again, with the overlay. */
async function measureChange(
  rows: readonly FamilyText[],
  readings: readonly RulesReading[],
  { pack, overlays, rules }: ChangedRules,
  scan: Scan,
): Promise<{ readonly part: TunedPart; readonly before: readonly boolean[] }> {
  const isBlocked = ({ score }: RulesReading): boolean => score >= pack.threshold;
  const runsAll = pack.rules.every(({ status, paranoia }) => status === 'deprecated' || paranoia <= pack.paranoia);
  const before = (runsAll ? readings : await scan(rows, 'before', {})).map(isBlocked);
  const places = rows.flatMap((_, i) => (readings[i]?.hits.some(({ rule }) => rules.has(rule)) ? [i] : []));
  const again = await scan(
    places.map((i) => rows[i] as FamilyText),
    'after',
    { overlays },
  );
  const after = [...before];
  places.forEach((i, at) => {
    after[i] = isBlocked(again[at] as RulesReading);
  });
  return { part: tunedPart(rows, before, after), before };
}

/** The figures of one part of the texts before and after the changes, both of real scans. */
export interface TunedPart {
  readonly attacks: number;
  readonly benign: number;
  readonly families: number;
  readonly before: Figures;
  readonly after: Figures;
  readonly gains: Gains;
  /** Empty where no row names a channel. */
  readonly byChannel: readonly { readonly channel: string; readonly before: Figures; readonly after: Figures }[];
}

/** Number of draws of families for the intervals. */
const ROUNDS = 1_000;

function tunedPart(rows: readonly FamilyText[], before: readonly boolean[], after: readonly boolean[]): TunedPart {
  const judged = rows.map(({ label, family, channel }, i) => ({
    channel,
    isAttack: label === 'injection',
    family,
    before: before[i] as boolean,
    after: after[i] as boolean,
  }));
  const figures = (of: typeof judged, when: 'before' | 'after'): Figures =>
    countFigures(of.map((text) => ({ isAttack: text.isAttack, score: 0, isBlocked: text[when] })));
  const attacks = judged.filter(({ isAttack }) => isAttack).length;
  return {
    attacks,
    benign: judged.length - attacks,
    families: new Set(rows.map(({ family }) => family)).size,
    before: figures(judged, 'before'),
    after: figures(judged, 'after'),
    gains: groupBootstrap(judged, ROUNDS, 1),
    byChannel: [...groupByChannel(judged)].map(([channel, of]) => ({
      channel,
      before: figures([...of], 'before'),
      after: figures([...of], 'after'),
    })),
  };
}

/** True where a part keeps the budget (0..1) after the changes, or at least has no more false positives than before, and is better for it. */
function isBetter({ before, after }: TunedPart, maxFpr: number): boolean {
  const [rateBefore, rateAfter] = [before.falsePositiveRate ?? 0, after.falsePositiveRate ?? 0];
  const [recallBefore, recallAfter] = [before.recall ?? 0, after.recall ?? 0];
  return rateAfter <= Math.max(maxFpr, rateBefore) && (recallAfter > recallBefore || rateAfter < rateBefore);
}
