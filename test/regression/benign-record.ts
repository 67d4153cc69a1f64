import type { BenignText } from './benign-texts.js';

/** a blocked benign text, and how far above its threshold it came. */
export interface FalsePositive {
  readonly id: string;
  readonly rule: string;
  readonly margin: number;
}

/** The false positives of the rules alone, and of rules and model together. */
export interface FalsePositives {
  readonly rules: readonly FalsePositive[];
  readonly both: readonly FalsePositive[];
}

/** What is committed: the known false positives, by id, and why each record replaced the one before. */
export interface BenignRecord {
  readonly texts: number;
  readonly rules: Readonly<Record<string, string>>;
  readonly both: Readonly<Record<string, string>>;
  readonly history: readonly {
    readonly date: string;
    readonly versions: string;
    readonly texts: number;
    readonly rules: number;
    readonly both: number;
    readonly reason: string;
  }[];
}

/** The last digits of an int8 model differ between CPUs; a false positive within that margin isn't a new one. */
const CPU_MARGIN = 0.02;

const byRule = (falsePositives: readonly FalsePositive[]): Record<string, string> =>
  Object.fromEntries(falsePositives.map(({ id, rule }) => [id, rule]));

/** What is worse than the record says, a line each; empty when nothing is. */
export function worseThan(
  record: BenignRecord,
  texts: readonly BenignText[],
  falsePositives: FalsePositives,
): readonly string[] {
  const side = (name: keyof FalsePositives, margin: number): readonly string[] =>
    falsePositives[name]
      .filter((found) => !(found.id in record[name]) && found.margin >= margin)
      .map(({ id, rule }) => `${name}: ${id} is blocked by ${rule}, and the record doesn't know it`);
  const gone = texts.length < record.texts ? [`${record.texts - texts.length} texts are gone`] : [];
  return [...gone, ...side('rules', 0), ...side('both', CPU_MARGIN)];
}

/** The record that the next run is held against. */
export function nextRecord(
  before: BenignRecord | undefined,
  texts: readonly BenignText[],
  falsePositives: FalsePositives,
  entry: { readonly date: string; readonly versions: string; readonly reason: string },
): BenignRecord {
  const counts = { texts: texts.length, rules: falsePositives.rules.length, both: falsePositives.both.length };
  const { date, versions, reason } = entry;
  return {
    texts: texts.length,
    rules: byRule(falsePositives.rules),
    both: byRule(falsePositives.both),
    history: [...(before?.history ?? []), { date, versions, ...counts, reason }],
  };
}
