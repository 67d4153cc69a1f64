import { type Budget, spend } from './budget.js';
import { LESS } from './char-kinds.js';
import { decodeRuns } from './decode/decode-runs.js';
import { type Draft, deriveDraft } from './draft.js';
import { hiddenTexts } from './hidden/hidden-texts.js';
import { htmlTags, type Markup } from './hidden/html-tags.js';
import type { Replacement } from './replacement.js';
import type { Rewritten } from './rewrite.js';
import type { Features } from './scan-features.js';
import { settleReplacements, splicedLength, spliceText } from './splice.js';
import { squeezeRuns } from './squeeze/squeeze-runs.js';
import type { TextLimits } from './text-limits.js';
import type { ViewKind } from './view.js';
import { htmlText } from './whole/html-text.js';
import { wholeReadings } from './whole/whole-readings.js';

const NO_TAGS: readonly Markup[] = [];

/** Every reading that lies one step behind a draft, as far as the budget reaches. Linear in its text. */
export function derive(draft: Draft, features: Features, limits: TextLimits, budget: Budget): readonly Draft[] {
  const { text, chain } = draft;
  const made: Draft[] = [];
  const add = (kind: ViewKind, transforms: readonly string[], length: number, make: () => Rewritten): void => {
    // What was undone once is not done again: ROT13 twice is the text itself.
    if (transforms.length === 1 && WHOLE.has(transforms[0] ?? '') && chain.includes(transforms[0] ?? '')) return;
    const whole = draft.map.toInput({ start: 0, end: text.length });
    if (spend(budget, length, whole, transforms.join('+'))) made.push(deriveDraft(draft, kind, transforms, make()));
  };
  const addRuns = (kind: ViewKind, found: readonly Replacement[]): void => {
    if (found.length === 0) return;
    const runs = settleReplacements(found);
    const transforms = [...new Set(runs.map((run) => run.transform))];
    add(kind, transforms, splicedLength(text, runs, limits.context), () => spliceText(text, runs, limits.context));
  };
  const tags = (features.signs & LESS) === 0 ? NO_TAGS : htmlTags(text);
  for (const hidden of hiddenTexts(text, features.signs, tags)) {
    add('hidden', [hidden.transform], hidden.made.text.length, () => hidden.made);
  }
  addRuns('squeezed', squeezeRuns(text, features));
  addRuns('decoded', decodeRuns(text, features));
  if (tags.length > 0) add('decoded', ['html-text'], text.length, () => htmlText(text, tags));
  for (const { transform, make } of wholeReadings(text, features)) add('decoded', [transform], text.length, make);
  return made;
}

const WHOLE = new Set(['rot13', 'reversed', 'reversed-words', 'html-text']);
