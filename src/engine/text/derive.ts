import { type Budget, spend } from './budget.js';
import { LESS } from './char-kinds.js';
import { decodeRuns } from './decode/decode-runs.js';
import { type Draft, deriveDraft } from './draft.js';
import { hiddenTexts } from './hidden/hidden-texts.js';
import { htmlTags } from './hidden/html-tags.js';
import type { Rewritten } from './rewrite.js';
import type { Features } from './scan-features.js';
import { settleReplacements, splicedLength, spliceText } from './splice.js';
import type { TextLimits } from './text-limits.js';
import type { ViewKind } from './view.js';

/** Every reading that lies one step behind a draft. Linear in its text. */
export function derive(draft: Draft, features: Features, limits: TextLimits, budget: Budget): readonly Draft[] {
  const { text } = draft;
  const made: Draft[] = [];
  const add = (kind: ViewKind, transforms: readonly string[], length: number, make: () => Rewritten): void => {
    const whole = draft.map.toInput({ start: 0, end: text.length });
    if (spend(budget, length, whole, transforms.join('+'))) made.push(deriveDraft(draft, kind, transforms, make()));
  };
  const tags = (features.signs & LESS) === 0 ? [] : htmlTags(text);
  for (const hidden of hiddenTexts(text, features.signs, tags)) {
    add('hidden', [hidden.transform], hidden.made.text.length, () => hidden.made);
  }
  const runs = settleReplacements(decodeRuns(text, features));
  if (runs.length > 0) {
    const transforms = [...new Set(runs.map((run) => run.transform))];
    add('decoded', transforms, splicedLength(text, runs, limits.context), () => spliceText(text, runs, limits.context));
  }
  return made;
}
