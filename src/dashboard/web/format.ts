import type { Label, RecordView } from '../ports.js';

const whole = new Intl.NumberFormat();
const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const dayOnly = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });
const shortTime = new Intl.DateTimeFormat(undefined, {
  ...{ month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit' },
});
const dayOfMonth = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });
const timeOfDay = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });

/** 12,345 in the reader's locale. */
export function count(value: number): string {
  return whole.format(value);
}

/** A number with its noun, singular or plural. */
export function counted(value: number, one: string, many: string): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** Date and time in the reader's zone. `time` in milliseconds since 1970. */
export function localTime(time: number): string {
  return full.format(time);
}

/** The same on one short line: without the year where it is this one. */
export function localTimeShort(time: number): string {
  const thisYear = new Date(time).getFullYear() === new Date().getFullYear();
  return thisYear ? shortTime.format(time) : dayOnly.format(time);
}

/** The day in the reader's zone. */
export function localDay(time: number): string {
  return dayOnly.format(time);
}

/** Month and day in the reader's zone. */
export function shortDay(time: number): string {
  return dayOfMonth.format(time);
}

/** Hour and minute in the reader's zone. */
export function clock(time: number): string {
  return timeOfDay.format(time);
}

/** The same moment in UTC, to the second. */
export function utcTime(time: number): string {
  return `${new Date(time).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** A score with three digits. */
export function score(value: number): string {
  return value.toFixed(3);
}

/** A probability: 33.3 %. */
export function percent(value: number): string {
  return `${(100 * value).toFixed(1)} %`;
}

/** A share of a whole in percent; a dash where there is no whole. */
export function share(part: number, of: number): string {
  return of === 0 ? '–' : `${((100 * part) / of).toFixed(part / of < 0.1 ? 1 : 0)} %`;
}

/** A length of time: 12 ms, 1.4 s. */
export function duration(ms: number): string {
  return ms < 1000 ? `${ms.toFixed(ms < 10 && ms % 1 !== 0 ? 1 : 0)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** Sizes of files: 14 kB, 2.5 MB. */
export function bytes(value: number): string {
  return value < 1e6 ? `${Math.ceil(value / 1000)} kB` : `${(value / 1e6).toFixed(1)} MB`;
}

export const channelWords: Readonly<Record<RecordView['channel'], string>> = {
  user: 'user',
  document: 'document',
  tool_result: 'tool result',
  tool_call: 'tool call',
  instructions: 'instructions',
  unknown: 'not named',
};

export const labelWords: Readonly<Record<Label, string>> = {
  correct_block: 'correct block',
  false_alarm: 'false positive',
  correct_allow: 'correct allow',
  missed_attack: 'missed attack',
};

/** The two marks that a verdict can get: it was right, it was wrong. */
export function marksFor(verdict: 'allow' | 'block'): { readonly right: Label; readonly wrong: Label } {
  return verdict === 'block'
    ? { right: 'correct_block', wrong: 'false_alarm' }
    : { right: 'correct_allow', wrong: 'missed_attack' };
}

export const deciderWords = {
  rules: 'rules',
  ml: 'model',
  'ml-error-rules-fallback': 'rules (the model failed)',
} as const;
