import { createHash } from 'node:crypto';
import { RE2JS } from 're2js';
import { expect, it } from 'vitest';
import { printRules } from '../../src/cli/rules/list-rules.js';
import { paintFor } from '../../src/cli/terminal.js';
import { buildViews } from '../../src/engine/text/views.js';

interface Exported {
  readonly sha256: string;
  readonly rules: readonly {
    readonly id: string;
    readonly views: readonly string[];
    readonly shape: { readonly kind: string };
    readonly steps: readonly (readonly string[])[];
    readonly except: readonly string[];
    readonly examples: { readonly positive: readonly string[] };
  }[];
}

let text = '';
printRules({}, { out: (part) => (text += part), paint: paintFor(process.stdout), today: '2026-11-22' });
const exported = JSON.parse(text) as Exported;

it('has every rule with its digest, and no list left to expand', () => {
  expect(exported.rules.length).toBeGreaterThan(500);
  expect(exported.sha256).toBe(createHash('sha256').update(JSON.stringify(exported.rules)).digest('hex'));
  const patterns = exported.rules.flatMap(({ steps, except }) => [...steps.flat(), ...except]);
  expect(patterns.filter((pattern) => pattern.includes('{{'))).toEqual([]);
});

it('every positive example has a match of one alternative of each step in a view of it, by a bare RE2', () => {
  const compiled = new Map<string, RE2JS>();
  const matches = (pattern: string, view: string): boolean => {
    const regex = compiled.get(pattern) ?? RE2JS.compile(pattern);
    compiled.set(pattern, regex);
    return regex.test(view);
  };
  const missed: string[] = [];
  for (const { id, steps, views, examples } of exported.rules) {
    for (const example of examples.positive) {
      const read = [...buildViews(example).views].filter(({ kind }) => views.includes(kind)).map((view) => view.text);
      if (!read.some((view) => steps.every((step) => step.some((pattern) => matches(pattern, view))))) missed.push(id);
    }
  }
  expect(missed).toEqual([]);
}, 240_000);
