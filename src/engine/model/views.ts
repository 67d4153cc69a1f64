import type { EngineLimits } from '../limits.js';
import type { View } from '../text/view.js';

/** The texts that a model reads of one input: the input itself first, then what it hides. */
export interface ModelTexts {
  readonly texts: readonly string[];
  /** One a text; undefined for the input itself. */
  readonly views: readonly (View | undefined)[];
  /** Views that the limits left out. */
  readonly skipped: readonly View[];
}

const HIDING = new Set(['squeezed', 'decoded', 'hidden']);

/**
 * Chooses what a model reads. The folded view says nothing new to an uncased tokenizer; a decoded,
 * squeezed or hidden text does. Longest first within the limits, each text once.
 */
export function modelTexts(input: string, views: readonly View[], limits: EngineLimits): ModelTexts {
  const seen = new Set<string>([input]);
  const chosen: View[] = [];
  const skipped: View[] = [];
  let length = 0;
  const hiding = views.filter((view) => HIDING.has(view.kind) && view.text.length >= limits.modelViewMinLength);
  for (const view of hiding.sort((a, b) => b.text.length - a.text.length)) {
    if (seen.has(view.text)) continue;
    seen.add(view.text);
    if (chosen.length < limits.modelViews && length + view.text.length <= limits.modelViewLength) {
      chosen.push(view);
      length += view.text.length;
    } else {
      skipped.push(view);
    }
  }
  return { texts: [input, ...chosen.map((view) => view.text)], views: [undefined, ...chosen], skipped };
}
