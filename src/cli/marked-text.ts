import type { Span } from '../engine/span.js';
import type { Paint } from './paint.js';

/** How much of a long text is shown around the marks. */
export interface MarkedTextOptions {
  readonly paint: Paint;
  /** Characters (UTF-16 code units) kept on each side of a mark; the rest becomes `[... n characters ...]`. */
  readonly around: number;
}

/** Joins spans that touch or overlap; sorted by start. */
export const mergeSpans = (spans: readonly Span[]): readonly Span[] => {
  const merged: Span[] = [];
  for (const span of [...spans].sort((a, b) => a.start - b.start || a.end - b.end)) {
    const last = merged.at(-1);
    if (last === undefined || span.start > last.end) merged.push(span);
    else if (span.end > last.end) merged[merged.length - 1] = { start: last.start, end: span.end };
  }
  return merged;
};

// Screened text may hold escape sequences that would drive the reader's terminal, and characters that can't be seen.
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\p{Cs}\p{VS}]/gu;
const visible = (text: string): string =>
  text.replace(unseen, (character) =>
    character === '\n' || character === '\t'
      ? character
      : `\\u{${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}}`,
  );

const isInsidePair = (text: string, offset: number): boolean =>
  /[\udc00-\udfff]/.test(text.charAt(offset)) && /[\ud800-\udbff]/.test(text.charAt(offset - 1));

/** The text between two marks, shortened in its middle or at the text's ends. */
const between = (text: string, from: number, to: number, around: number): string => {
  const whole = from === 0 && to === text.length;
  const keepBefore = whole ? 10 * around : from === 0 ? 0 : around;
  const keepAfter = to === text.length ? 0 : around;
  if (to - from <= keepBefore + keepAfter + 40) return visible(text.slice(from, to));
  const headEnd = from + keepBefore - (isInsidePair(text, from + keepBefore) ? 1 : 0);
  const tailStart = to - keepAfter + (isInsidePair(text, to - keepAfter) ? 1 : 0);
  return `${visible(text.slice(from, headEnd))}[... ${tailStart - headEnd} characters ...]${visible(text.slice(tailStart, to))}`;
};

/**
 * The text for a person, with the spans marked: by colour on a terminal, else by `»` and `«`.
 * Control and invisible characters are written as `\u{…}`, so that the text can't drive the terminal.
 */
export const markedText = (text: string, spans: readonly Span[], { paint, around }: MarkedTextOptions): string => {
  const mark = (part: string): string => (paint.colours ? paint.marked(part) : `»${part}«`);
  let shown = '';
  let at = 0;
  for (const { start, end } of mergeSpans(spans)) {
    const inside = end - start > 20 * around ? between(text, start, end, 10 * around) : visible(text.slice(start, end));
    shown += between(text, at, start, around) + mark(inside);
    at = end;
  }
  return shown + between(text, at, text.length, around);
};
