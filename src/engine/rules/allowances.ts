import { formOf } from './compiled-rule.js';
import type { Allowance, Rule } from './types.js';

/** The allow-list's patterns for one rule, with their places in the list. */
export function allowancesFor(
  allow: readonly Allowance[],
  rule: Rule,
): readonly { readonly source: string; readonly at: number }[] {
  return allow.flatMap((entry, at) => {
    if (entry.rule !== undefined && entry.rule !== rule.id) return [];
    if (entry.pattern !== undefined) return [{ source: entry.pattern, at }];
    if (entry.text === undefined) return [];
    return [{ source: formOf(rule) === 'raw' ? literal(entry.text) : foldedLiteral(entry.text), at }];
  });
}

const literal = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');

/** White space is folded in the view, so one separator stands for any run of it. */
const foldedLiteral = (text: string): string => literal(text.trim().toLowerCase()).replace(/\s+/g, '[ \\n]+');
