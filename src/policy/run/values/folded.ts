import type { Span } from '../../../engine/span.js';
import { buildViews } from '../../../engine/text/views.js';

/** A reading of a text for comparison: folded, and decoded where the text encodes something. */
export interface FoldedView {
  readonly text: string;
  /** Whether it is the decoded text of an encoding. */
  readonly isDecoded: boolean;
  /** Leads from a span of the view back to the text. */
  toText(span: Span): Span;
}

const SPELLED_AT = / ?[[({<] ?(?:at|@) ?[\])}>] ?| @ /g;
const SPELLED_DOT = / ?[[({<] ?(?:dot|\.) ?[\])}>] ?/g;

/**
 * The readings in which values are compared, folded text first: case, width, look-alikes and invisible characters make no
 * difference there, and percent, base64 and the other encodings of the engine are undone.
 */
export function foldedViews(text: string): readonly FoldedView[] {
  const whole = { start: 0, end: text.length };
  return buildViews(text)
    .views.slice(1)
    .flatMap(({ kind, text: folded, map }): FoldedView[] => {
      const view = { text: folded, isDecoded: kind === 'decoded', toText: map.toInput };
      // As in `name [at] example [dot] com`.
      const spelled = folded.replace(SPELLED_AT, '@').replace(SPELLED_DOT, '.');
      return spelled === folded ? [view] : [view, { ...view, text: spelled, toText: () => whole }];
    });
}
