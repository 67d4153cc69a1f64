import type { HonestText } from './benign-texts.js';

/** A blocked honest text, and how far above its threshold it came. */
export interface Alarm {
  readonly id: string;
  readonly rule: string;
  readonly margin: number;
}

/** The alarms of the rules alone, and of rules and model together. */
export interface Alarms {
  readonly rules: readonly Alarm[];
  readonly both: readonly Alarm[];
}

/** What is committed: the known alarms, by id, and why each record replaced the one before. */
export interface AlarmRecord {
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

/** The last digits of an int8 model differ between CPUs; an alarm that hangs on them is no new one. */
const CPU_MARGIN = 0.02;

const byRule = (alarms: readonly Alarm[]): Record<string, string> =>
  Object.fromEntries(alarms.map(({ id, rule }) => [id, rule]));

/** What is worse than the record says, a line each; empty when nothing is. */
export function worseThan(record: AlarmRecord, texts: readonly HonestText[], alarms: Alarms): readonly string[] {
  const side = (name: keyof Alarms, margin: number): readonly string[] =>
    alarms[name]
      .filter((alarm) => !(alarm.id in record[name]) && alarm.margin >= margin)
      .map(({ id, rule }) => `${name}: ${id} is blocked by ${rule}, and the record doesn't know it`);
  const gone = texts.length < record.texts ? [`${record.texts - texts.length} texts are gone`] : [];
  return [...gone, ...side('rules', 0), ...side('both', CPU_MARGIN)];
}

/** The record that the next run is held against. */
export function nextRecord(
  before: AlarmRecord | undefined,
  texts: readonly HonestText[],
  alarms: Alarms,
  entry: { readonly date: string; readonly versions: string; readonly reason: string },
): AlarmRecord {
  const counts = { texts: texts.length, rules: alarms.rules.length, both: alarms.both.length };
  const { date, versions, reason } = entry;
  return {
    texts: texts.length,
    rules: byRule(alarms.rules),
    both: byRule(alarms.both),
    history: [...(before?.history ?? []), { date, versions, ...counts, reason }],
  };
}
