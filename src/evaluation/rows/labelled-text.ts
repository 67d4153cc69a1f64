import { hash } from 'node:crypto';
import { basename } from 'node:path';
import { findInputs, type InputFile, readSlices, sliceRows } from '../../batch/formats/input-files.js';
import type { JsonLine } from '../../batch/record-slices.js';
import { type Channel, isChannel } from '../../engine/channel.js';

/** The true class of a text. */
export type Label = 'injection' | 'benign';

/** A text with what is known about it. */
export interface LabelledText {
  /** The row's own id, else `FILE:LINE`. */
  readonly id: string;
  readonly text: string;
  /** Origin of the text; undefined where the row has none. */
  readonly channel?: Channel | undefined;
  /** Task that the user gave the agent, where the row has one. */
  readonly task?: string | undefined;
  /** Undefined if the text is unlabelled. */
  readonly label: Label | undefined;
  readonly source: string;
  readonly group: string;
  readonly language: string;
  /** Rows with the same word belong together (a twin, a host, a conversation): a split never parts them. */
  readonly together?: string | undefined;
  /** True where the label says that a recorded verdict was wrong: a mark such as `false_alarm`. */
  readonly corrects?: boolean | undefined;
  /** Verdict at the time, for rows of an evidence export. */
  readonly recorded: 'allow' | 'block' | undefined;
}

const BENIGN_WORDS = new Set(
  '0 benign false no safe legitimate clean ham false_alarm correct_allow false_positive true_negative allow'.split(' '),
);
const ATTACK_WORDS = new Set(
  '1 injection true yes unsafe attack malicious jailbreak missed_attack correct_block false_negative true_positive block'.split(
    ' ',
  ),
);

/**
 * Reads a label: 0/1, benign/injection, true/false and the like, or a mark of the dashboard: `false_alarm` and
 * `correct_allow` (benign texts), `missed_attack` and `correct_block` (attacks). Undefined for null, an empty cell or
 * nothing; `'unknown'` for a word that is no label.
 */
export function readLabel(value: unknown): Label | 'unknown' | undefined {
  if (value === null || value === undefined || value === '') return undefined;
  const word = String(value).trim().toLowerCase();
  if (BENIGN_WORDS.has(word)) return 'benign';
  if (ATTACK_WORDS.has(word)) return 'injection';
  return 'unknown';
}

/** Usual names of a row's fields. */
const USUAL = {
  text: ['text', 'input', 'prompt', 'content'],
  channel: ['channel'],
  task: ['task'],
  label: ['label'],
  source: ['source'],
  group: ['group', 'kind', 'category'],
  language: ['language', 'lang'],
  together: ['pair', 'together'],
} as const;

/** Names of a row's fields. Those left out are looked for under their usual names. */
export type FieldNames = { readonly [Field in keyof typeof USUAL]?: string | undefined };

type Row = Readonly<Record<string, unknown>>;

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function readField(row: Row, given: string | undefined, names: readonly string[]): unknown {
  const name = given ?? names.find((one) => Object.hasOwn(row, one));
  return name !== undefined && Object.hasOwn(row, name) ? row[name] : undefined;
}

/** The text of a cell; undefined if it has none, null if it was masked or hashed. `sha256` comes with it in a CSV export. */
function readText(value: unknown, sha256: unknown): string | null | undefined {
  if (isRow(value)) {
    if (value.kept === undefined) return undefined;
    return value.kept === 'whole' && typeof value.text === 'string' ? value.text : null;
  }
  if (typeof value !== 'string') return undefined;
  // A CSV export holds the digest of what was screened: a masked text has another one, and a spreadsheet's
  // apostrophe before a formula comes off.
  if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256)) return value;
  const whole = [value, value.replace(/^'/, '')].find((text) => hash('sha256', text) === sha256);
  return whole ?? null;
}

function readRecorded(row: Row): LabelledText['recorded'] {
  const verdict = isRow(row.verdict) ? row.verdict.verdict : row.verdict;
  return verdict === 'allow' || verdict === 'block' ? verdict : undefined;
}

function readWord(value: unknown, otherwise: string): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : otherwise;
}

/** Reason why a row can't be used; never quotes the row. */
export type RowFault = 'not an object' | 'no text' | 'not kept whole' | 'unknown label' | 'unknown channel';

/** A row as a labelled text. A record of the dashboard whose input was masked or hashed wasn't kept whole. */
export function readRow(
  row: unknown,
  place: { readonly id: string; readonly source: string },
  names: FieldNames,
): LabelledText | RowFault {
  if (!isRow(row)) return 'not an object';
  const text = readText(readField(row, names.text, USUAL.text), row.sha256);
  if (text === undefined) return 'no text';
  const task = readText(readField(row, names.task, USUAL.task), row.task_sha256);
  if (text === null || task === null) return 'not kept whole';
  const channel = readField(row, names.channel, USUAL.channel) || undefined;
  if (channel !== undefined && !isChannel(channel)) return 'unknown channel';
  const given = readField(row, names.label, USUAL.label);
  const label = readLabel(given);
  if (label === 'unknown') return 'unknown label';
  const recorded = readRecorded(row);
  return {
    id: readWord(row.id, place.id),
    text,
    channel,
    task: task || undefined,
    label,
    source: readWord(readField(row, names.source, USUAL.source), place.source),
    group: readWord(readField(row, names.group, USUAL.group), 'none'),
    language: readWord(readField(row, names.language, USUAL.language), 'unknown'),
    together: readWord(readField(row, names.together, USUAL.together), '') || undefined,
    recorded,
    corrects: label !== undefined && corrects(given, label, recorded),
  };
}

const CORRECTIONS: ReadonlySet<string> = new Set(['false_alarm', 'false_positive', 'missed_attack', 'false_negative']);

function corrects(given: unknown, label: Label, recorded: LabelledText['recorded']): boolean {
  if (CORRECTIONS.has(String(given).trim().toLowerCase())) return true;
  return recorded !== undefined && (recorded === 'block') !== (label === 'injection');
}

/** Returns warnings about the labels, each with its remedy; none for labels of both classes that are not corrections alone. */
export function labelWarnings(texts: readonly LabelledText[]): readonly string[] {
  const judged = texts.filter(({ label }) => label !== undefined);
  if (judged.length === 0) return [];
  const attacks = judged.filter(({ label }) => label === 'injection').length;
  const benign = judged.length - attacks;
  return [
    ...(judged.every((text) => text.corrects)
      ? [
          `The marks are one-sided: each says that a verdict was wrong (${benign} false positives, ${attacks} missed attacks). Recall and false-positive rate on them describe these mistakes, not your traffic. Mark correct verdicts as well, or compare with the recorded verdicts by "portcullis eval --shadow".`,
        ]
      : []),
    ...(attacks === 0
      ? [
          'No text is labelled as an attack, so recall can\'t be measured. "portcullis tune --benign-only" takes benign texts alone.',
        ]
      : []),
    ...(benign === 0 ? ["No text is labelled as benign, so the false-positive rate can't be measured."] : []),
  ];
}

/** Texts read, and what could not be used. */
export interface ReadTexts {
  readonly texts: readonly LabelledText[];
  readonly leftOut: Readonly<Partial<Record<RowFault | 'not JSON', number>>>;
  /** The first of the rows that hold a mistake; records that were masked or hashed are none. */
  readonly mistakes: readonly RowMistake[];
}

export interface RowMistake {
  /** The file's name, without folders. */
  readonly file: string;
  /** Counted from 1; in Parquet the row. */
  readonly line: number;
  readonly fault: RowFault | 'not JSON';
}

const MOST_MISTAKES = 20;

/** Bytes of rows that are read at once. */
const SLICE_BYTES = 2 ** 18;

/** Reads the rows of a file, whatever its format. @throws BatchError */
export async function* readFileRows(file: InputFile): AsyncGenerator<JsonLine> {
  const slices = readSlices([file], { format: 'jsonl', sliceBytes: SLICE_BYTES, from: { file: 0, line: 1 } });
  for await (const { slice } of slices) yield* sliceRows(slice);
}

/**
 * Reads labelled texts as `portcullis batch` reads rows: JSON Lines, CSV, TSV or Parquet by the file's name, plain or
 * compressed; anything else is JSON Lines.
 * @throws BatchError naming a file that can't be read
 */
export async function readLabelled(patterns: readonly string[], names: FieldNames = {}): Promise<ReadTexts> {
  const texts: LabelledText[] = [];
  const leftOut: Partial<Record<RowFault | 'not JSON', number>> = {};
  const mistakes: RowMistake[] = [];
  const seen = new Set<string>();
  for (const file of await findInputs(patterns)) {
    if (seen.has(file.path)) continue;
    seen.add(file.path);
    const name = basename(file.path);
    const source = name.replace(/(\.[a-z]+)?(\.(gz|zst))?$/i, '') || name;
    for await (const { line, content } of readFileRows(file)) {
      const read = 'error' in content ? 'not JSON' : readRow(content.value, { id: `${name}:${line}`, source }, names);
      if (typeof read !== 'string') {
        texts.push(read);
        continue;
      }
      leftOut[read] = (leftOut[read] ?? 0) + 1;
      if (read !== 'not kept whole' && mistakes.length < MOST_MISTAKES)
        mistakes.push({ file: name, line, fault: read });
    }
  }
  return { texts, leftOut, mistakes };
}
