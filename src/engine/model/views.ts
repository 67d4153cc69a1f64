import { type EngineLimits, MODEL_PIECE_LENGTH } from '../limits.js';
import { edgeBefore, type Span } from '../span.js';
import { undisguise } from '../text/transforms.js';
import type { View, ViewKind } from '../text/view.js';
import { spread } from './windows.js';

/** A text that a model reads, and the way back to the input. */
export interface ModelReading {
  readonly text: string;
  readonly view: ViewKind;
  toInput(span: Span): Span;
}

/** The texts that a model reads of one input: the input itself first, then what it hides. */
export interface ModelTexts {
  readonly readings: readonly ModelReading[];
  /** Readings from this index on are decoded ones. */
  readonly derivedFrom: number;
  /** Parts of the input that the limits keep from the model, in some reading of theirs. */
  readonly unseen: readonly { readonly span: Span; readonly limit: 'modelLength' | 'modelViews' }[];
}

type Limits = Pick<EngineLimits, 'modelLength' | 'modelViews' | 'modelViewLength' | 'modelViewMinLength'>;

/** Views that show what a text hides: decoded, deobfuscated or invisible to a person. */
export const HIDING_VIEWS: ReadonlySet<ViewKind> = new Set(['squeezed', 'decoded', 'hidden']);

/**
 * Chooses what a model reads. The folded view says nothing new to an uncased tokenizer; a decoded,
 * squeezed or hidden text does. Longest first within the limits, each text once. Of the input itself it reads no Morse code
 * and no spaced-out letters that one of these texts shows in plain, no emoji between words and no leet; where letters are disguised
 * (𝐢𝐠𝐧𝐨𝐫𝐞, ｉｇｎｏｒｅ, іgnоrе), it reads the folded text instead.
 */
export function modelTexts(input: string, views: readonly View[], limits: Limits): ModelTexts {
  const seen = new Set<string>([input]);
  const derived: ModelReading[] = [];
  const unseen: ModelTexts['unseen'][number][] = [];
  const unread = new Set<string>();
  const read = new Set<string>();
  let room = limits.modelViewLength;
  let places = limits.modelViews;
  const hiding = views.filter(
    ({ kind, text, chain }) =>
      HIDING_VIEWS.has(kind) &&
      text.length >= limits.modelViewMinLength &&
      !(input.length <= limits.modelLength && readsAlike(chain)),
  );
  for (const { text, kind, map, chain } of hiding.sort((a, b) => b.text.length - a.text.length)) {
    if (seen.has(text)) continue;
    seen.add(text);
    const fits = places > 0 && text.length <= room;
    for (const transform of chain) (fits ? read : unread).add(transform);
    if (fits) {
      derived.push({ text, view: kind, toInput: (span) => map.toInput(span) });
      room -= text.length;
      places -= 1;
    } else {
      unseen.push({ span: map.toInput({ start: 0, end: text.length }), limit: 'modelViews' });
    }
  }
  const made = new Set(views.flatMap(({ chain }) => chain));
  const inPlain = [...made].filter((one) => READ_IN_PLAIN.has(one) || (read.has(one) && !unread.has(one)));
  const own = readOwn(input, views, new Set(inPlain), limits.modelLength);
  return {
    readings: [...own.readings, ...derived],
    derivedFrom: own.readings.length,
    unseen: [...own.unseen, ...unseen],
  };
}

/** Transforms that the model's own reading of the input does too: it keeps every word. */
const READ_IN_PLAIN: ReadonlySet<string> = new Set(['emoji', 'leet', 'fold']);

/** Whether the model's own reading of the input shows a view's text too. */
function readsAlike(chain: readonly string[]): boolean {
  return chain.length > 1 && chain.every((transform) => READ_IN_PLAIN.has(transform));
}

/** From this share of its letters on a text is disguised; the fold brings out fewer than a third of the letters of Vietnamese. */
const DISGUISED = 0.4;
/** Fewer letters are too few to judge. */
const MIN_LETTERS = 8;

function readOwn(
  input: string,
  views: readonly View[],
  transforms: ReadonlySet<string>,
  length: number,
): Omit<ModelTexts, 'derivedFrom'> {
  const folded = input.length > length || isAscii(input) ? undefined : views.find(({ kind }) => kind === 'folded');
  if (folded === undefined || !isDisguised(input, folded.text)) return readInput(undisguise(input, transforms), length);
  const reading: ModelReading = {
    text: undisguise(folded.text, transforms),
    view: 'folded',
    toInput: (span) => folded.map.toInput(span),
  };
  return { readings: [reading], unseen: [] };
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i += 1) if (text.charCodeAt(i) >= 0x80) return false;
  return true;
}

/** Whether so many of the folded text's letters are ASCII by the fold alone. */
function isDisguised(input: string, folded: string): boolean {
  const letters = asciiLetters(folded);
  return letters >= MIN_LETTERS && letters - asciiLetters(input) >= DISGUISED * letters;
}

function asciiLetters(text: string): number {
  return text.match(/[A-Za-z]/g)?.length ?? 0;
}

/** The whole input, or pieces of it spread evenly with both ends kept. */
function readInput(input: string, length: number): Omit<ModelTexts, 'derivedFrom'> {
  if (input.length <= length) {
    return { readings: [{ text: input, view: 'raw', toInput: (span) => span }], unseen: [] };
  }
  const size = Math.min(MODEL_PIECE_LENGTH, length);
  const pieces = Math.ceil(input.length / size);
  const readings: ModelReading[] = [];
  const unseen: ModelTexts['unseen'][number][] = [];
  let read = 0;
  for (const piece of spread(pieces, Math.max(1, Math.floor(length / size)))) {
    const start = edgeBefore(input, piece * size);
    const end = edgeBefore(input, (piece + 1) * size);
    if (start > read) unseen.push({ span: { start: read, end: start }, limit: 'modelLength' });
    readings.push({
      text: input.slice(start, end),
      view: 'raw',
      toInput: (span) => ({ start: span.start + start, end: span.end + start }),
    });
    read = end;
  }
  if (read < input.length) unseen.push({ span: { start: read, end: input.length }, limit: 'modelLength' });
  return { readings, unseen };
}
