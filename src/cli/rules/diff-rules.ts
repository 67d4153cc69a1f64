import { NO_CORE } from '../../adapters/packs/load-pack.js';
import { alignedTable } from '../../evaluation/report/text-format.js';
import { diffPacks, type PackDifference } from '../../rule-authoring/diff-packs.js';
import { signed } from '../../tuning/choose-changes.js';
import { setupWith } from '../engine-flags.js';
import { type RowFlags, readRows } from '../measure/row-flags.js';
import { markedText, progressCounter } from '../terminal.js';
import type { RulesArgs, RulesIo } from './rules-io.js';

export interface DiffArgs extends Pick<RulesArgs, 'json'>, RowFlags {
  readonly on: readonly string[];
  readonly show: number;
  /** False: each pack other than `core` by itself. */
  readonly core?: boolean;
}

const headLine = ({ versions: [before, after], ...counts }: PackDifference): string =>
  `${before} -> ${after}: ${counts.compared} texts, ${counts.newlyBlocked} newly blocked, ${counts.newlyAllowed} newly allowed; attacks found ${signed(counts.gainedAttacks)}, false positives ${signed(counts.gainedFalseAlarms)}`;

/** Lists the verdicts that change from one pack or overlay to another. Exit code 0. @throws CliError; PackError; TuningError */
export async function diffRules(
  before: string,
  after: string,
  args: DiffArgs,
  { out, paint }: RulesIo,
): Promise<number> {
  const { texts } = await readRows(args.on, args);
  const progress = progressCounter(process.stderr);
  const rulesAlone = { model: false, packs: args.core === false ? [NO_CORE] : undefined } as const;
  const difference = await diffPacks(texts, setupWith(rulesAlone, before), setupWith(rulesAlone, after), {
    onProgress: (_, done) => progress.update('texts', done, texts.length),
  });
  progress.clear();
  if (args.json) {
    out(`${JSON.stringify(difference, null, 2)}\n`);
    return 0;
  }
  out(`${headLine(difference)}\n`);
  if (difference.byRule.length > 0) {
    const rows = difference.byRule.map(({ rule, newlyBlocked, newlyAllowed }) => [
      rule,
      String(newlyBlocked),
      String(newlyAllowed),
    ]);
    out(`\n${alignedTable([['rule', 'newly blocked', 'newly allowed'], ...rows])}\n`);
  }
  for (const { id, label, before: was, after: is, rule, text, spans } of difference.changes.slice(0, args.show))
    out(
      `\n${paint.bold(id)}  ${was} -> ${is}  ${label ?? 'unlabelled'}  ${rule ?? ''}\n${markedText(text, spans, { paint, around: 80 })}\n`,
    );
  const more = difference.changes.length - args.show;
  if (more > 0) out(`\n… and ${more} more: --show or --json\n`);
  return 0;
}
