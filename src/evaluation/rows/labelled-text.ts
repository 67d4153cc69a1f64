/** What a text is in truth. */
export type Label = 'injection' | 'benign';

/** A text with what is known about it. */
export interface LabelledText {
  /** The row's own id, else `FILE:LINE`. */
  readonly id: string;
  readonly text: string;
  /** Undefined where nobody has judged the text. */
  readonly label: Label | undefined;
  readonly source: string;
  readonly group: string;
  readonly language: string;
  /** Rows with the same word belong together (a twin, a host, a conversation): a split never parts them. */
  readonly together?: string | undefined;
  /** What was decided at the time, for rows of an evidence export. */
  readonly recorded: 'allow' | 'block' | undefined;
}

const benignWords = new Set([
  '0',
  'benign',
  'false',
  'no',
  'safe',
  'legitimate',
  'clean',
  'ham',
  'false_alarm',
  'allow',
]);
const attackWords = new Set([
  '1',
  'injection',
  'true',
  'yes',
  'unsafe',
  'attack',
  'malicious',
  'jailbreak',
  'missed_attack',
  'block',
]);

/**
 * Reads a label: 0/1, benign/injection, true/false and kin, or the dashboard's `false_alarm` (a benign text)
 * and `missed_attack`. Undefined for null, an empty cell or nothing; `'unknown'` for a word that is no label.
 */
export const readLabel = (value: unknown): Label | 'unknown' | undefined => {
  if (value === null || value === undefined || value === '') return undefined;
  const word = String(value).trim().toLowerCase();
  if (benignWords.has(word)) return 'benign';
  if (attackWords.has(word)) return 'injection';
  return 'unknown';
};
