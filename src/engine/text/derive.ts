import { type Budget, spend } from './budget.js';
import { BRACKET, LESS } from './char-kinds.js';
import { decodeRuns } from './decode/decode-runs.js';
import { wholeReadings } from './decode/whole-readings.js';
import { squeezeRuns } from './deobfuscate/squeeze-runs.js';
import { type Draft, deriveDraft } from './draft.js';
import { hiddenTexts } from './html/hidden-texts.js';
import { htmlTags } from './html/html-tags.js';
import { htmlText } from './html/html-text.js';
import type { Replacement } from './replacement.js';
import type { Features } from './scan-features.js';
import { onlyFresh, settleReplacements, splicedLength, spliceText } from './splice.js';
import type { TextLimits } from './text-limits.js';
import type { ViewKind } from './view.js';

const MARKUP = /[<>[\]"']/;
const ALL_NEW = { freshMarkup: true } as const;

/** Every reading that lies one step behind a draft, as far as the budget reaches. Linear in its text. */
export function derive(draft: Draft, features: Features, limits: TextLimits, budget: Budget): readonly Draft[] {
  const made: Draft[] = [];
  if (draft.freshMarkup && (features.signs & (LESS | BRACKET)) !== 0) addMarkup(made, draft, features, budget);
  addRuns(made, draft, 'squeezed', squeezeRuns(draft.text, features), features, limits, budget);
  addRuns(made, draft, 'decoded', decodeRuns(draft.text, features), features, limits, budget);
  if (features.tags !== undefined || features.backwardOrder) {
    for (const { transform, make } of wholeReadings(draft.text, features, draft)) {
      if (reaches(draft, transform, draft.text.length, budget)) {
        made.push(deriveDraft(draft, 'decoded', [transform], make(), { ...ALL_NEW, before: features }));
      }
    }
  }
  return made;
}

function addMarkup(made: Draft[], draft: Draft, features: Features, budget: Budget): void {
  const { text, chain } = draft;
  const tags = (features.signs & LESS) === 0 ? [] : htmlTags(text);
  for (const { transform, made: hidden } of hiddenTexts(text, features.signs, tags)) {
    if (reaches(draft, transform, hidden.text.length, budget)) {
      made.push(deriveDraft(draft, 'hidden', [transform], hidden, ALL_NEW));
    }
  }
  // Once its tags are gone a text has none that were not written as escapes, which the next step reads.
  if (tags.length === 0 || chain.at(-1) === 'html-text') return;
  if (reaches(draft, 'html-text', text.length, budget)) {
    made.push(
      deriveDraft(draft, 'decoded', ['html-text'], htmlText(text, tags), { freshMarkup: false, before: features }),
    );
  }
}

function addRuns(
  made: Draft[],
  draft: Draft,
  kind: ViewKind,
  found: readonly Replacement[],
  before: Features,
  limits: TextLimits,
  budget: Budget,
): void {
  if (found.length === 0) return;
  const { text } = draft;
  const settled = settleReplacements(found);
  const runs = draft.fresh === undefined ? settled : onlyFresh(settled, draft.fresh);
  if (runs.length === 0) return;
  const transforms = [...new Set(runs.map((run) => run.transform))];
  if (!reaches(draft, transforms.join('+'), splicedLength(text, runs, limits.context), budget)) return;
  const spliced = spliceText(text, runs, limits.context);
  const freshMarkup = runs.some((run) => MARKUP.test(run.text));
  made.push(deriveDraft(draft, kind, transforms, spliced, { fresh: spliced.fresh, freshMarkup, before }));
}

function reaches(draft: Draft, transform: string, length: number, budget: Budget): boolean {
  return spend(budget, length, draft.map.toInput({ start: 0, end: draft.text.length }), transform);
}
