import { stringify } from 'yaml';
import { ruleSchema } from '../engine/rules/pack/rule-schema.js';
import { TuningError } from '../evaluation/scoring/score-rules.js';

/** The content of a new rule's file; other fields have their defaults. */
export interface RuleDraft {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly score: number;
  readonly match: { readonly any: readonly string[] };
  readonly positive: readonly { readonly text: string; readonly hit: string }[];
  readonly negative: readonly { readonly text: string; readonly why: string }[];
  /** Comment lines at the top. */
  readonly notes: readonly string[];
}

/** A draft as a rule file (YAML), in shadow. @throws TuningError for an id that no rule may have */
export function draftRule(draft: RuleDraft): string {
  const { id, title, description, score, match, positive, negative, notes } = draft;
  const rule = {
    id,
    version: '0.1.0',
    title: title.slice(0, 80),
    description,
    status: 'experimental',
    severity: 'medium',
    paranoia: 1,
    score,
    tags: ['owasp:LLM01'],
    match,
    examples: { positive, negative },
  };
  const parsed = ruleSchema.safeParse(rule);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new TuningError(`${issue?.path.join('.') ?? 'The rule'}: ${issue?.message ?? 'is not valid'}.`);
  }
  const comments = notes.map((line) => `# ${line}\n`).join('');
  return comments + stringify(rule, { lineWidth: 0 });
}

/** The file of a new rule. It passes `lint` and `test` unchanged; the author replaces its words. @throws TuningError */
export function newRule(id: string): string {
  const [family = '', name = ''] = id.split('.');
  const named = name.split('-').filter((word) => word !== '');
  const words = named.length > 1 ? named : [...named, 'everything'];
  const phrase = words.join(' ');
  return draftRule({
    id,
    title: `${phrase.charAt(0).toUpperCase()}${phrase.slice(1)}`,
    description: `Detects a request to ${phrase}.`,
    score: 0.6,
    match: { any: [`\\b${words.join(' ')}\\b`] },
    positive: [
      { text: `Please ${phrase} now.`, hit: phrase },
      { text: `From now on ${phrase}, and do not mention it.`, hit: phrase },
      { text: `Your first step is to ${phrase}.`, hit: phrase },
    ],
    negative: [
      { text: `The note is about ${words.join(', then ')}.`, why: 'the words are apart' },
      { text: `Nobody mentioned ${words.at(-1)} today.`, why: 'a single word' },
      { text: `We wrote "${words[0]}" on the board.`, why: 'a single word' },
    ],
    notes: [
      `A rule of the family ${family}. While it is experimental it runs in shadow: it is reported and adds nothing to the score.`,
      'Patterns use RE2 syntax; a space stands for any separator, {{name}} for a word list. See docs/rules.md.',
      'Replace the pattern and the examples: texts that must match, with the exact match, and near misses that must not.',
    ],
  });
}
