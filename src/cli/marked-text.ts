import { mergeSpans, type Span } from '../engine/span.js';
import { visibleText } from '../engine/visible-text.js';
import type { Paint } from './paint.js';

/** How much of a long text is shown around the marks. */
export interface MarkedTextOptions {
  readonly paint: Paint;
  /** Characters (UTF-16 code units) kept on each side of a mark; the rest becomes `[... n characters ...]`. */
  readonly around: number;
}

const isInsidePair = (text: string, offset: number): boolean =>
  /[\udc00-\udfff]/.test(text.charAt(offset)) && /[\ud800-\udbff]/.test(text.charAt(offset - 1));

/** The text between two marks, shortened in its middle or at the text's ends. */
const between = (text: string, from: number, to: number, around: number): string => {
  const whole = from === 0 && to === text.length;
  const keepBefore = whole ? 10 * around : from === 0 ? 0 : around;
  const keepAfter = to === text.length ? 0 : around;
  if (to - from <= keepBefore + keepAfter + 40) return visibleText(text.slice(from, to));
  const headEnd = from + keepBefore - (isInsidePair(text, from + keepBefore) ? 1 : 0);
  const tailStart = to - keepAfter + (isInsidePair(text, to - keepAfter) ? 1 : 0);
  return `${visibleText(text.slice(from, headEnd))}[... ${tailStart - headEnd} characters ...]${visibleText(text.slice(tailStart, to))}`;
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
    const inside =
      end - start > 20 * around ? between(text, start, end, 10 * around) : visibleText(text.slice(start, end));
    shown += between(text, at, start, around) + mark(inside);
    at = end;
  }
  return shown + between(text, at, text.length, around);
};
