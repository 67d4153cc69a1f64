import type { Label } from '../ports.js';

/** What a mark says of a verdict. */
export const labelWords: Readonly<Record<Label, string>> = {
  correct_block: 'correct block',
  false_alarm: 'false positive',
  correct_allow: 'correct allow',
  missed_attack: 'missed attack',
};

/** The two marks that a verdict can get: it was right, it was wrong. */
export function marksFor(verdict: 'allow' | 'block'): { readonly right: Label; readonly wrong: Label } {
  return verdict === 'block'
    ? { right: 'correct_block', wrong: 'false_alarm' }
    : { right: 'correct_allow', wrong: 'missed_attack' };
}

export const deciderWords = {
  rules: 'rules',
  ml: 'model',
  'ml-error-rules-fallback': 'rules (the model failed)',
} as const;
