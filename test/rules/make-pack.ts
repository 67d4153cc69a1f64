import { compilePack } from '../../src/engine/rules/compile-pack.js';
import type { CompileOptions } from '../../src/engine/rules/compile-rules.js';
import { ruleSchema } from '../../src/engine/rules/pack/rule-schema.js';
import type { CompiledPack, Pack, Rule, RulesSignal, ScanOptions, WordLists } from '../../src/engine/rules/types.js';
import { buildViews } from '../../src/engine/text/views.js';

/** A rule from what matters to a test; the rest is filled in. */
export function makeRule(part: Partial<Rule> & Pick<Rule, 'match'>): Rule {
  return ruleSchema.parse({
    id: 'test.rule',
    version: '1.0.0',
    title: 'A test',
    description: 'Detects what a test needs.',
    status: 'stable',
    severity: 'high',
    score: 0.6,
    ...part,
  }) as Rule;
}

export function makePack(rules: readonly Rule[], words: WordLists = {}): Pack {
  return {
    name: 'test',
    rulesVersion: '1.0.0+000000000000',
    threshold: 0.5,
    paranoia: 1,
    layers: [{ name: 'test', version: '1.0.0', words, rules }],
    isChecked: false,
    allow: [],
  };
}

export function compile(rules: readonly Rule[], words: WordLists = {}, options: CompileOptions = {}): CompiledPack {
  return compilePack(makePack(rules, words), options);
}

export function scan(pack: CompiledPack, text: string, options: ScanOptions = {}): RulesSignal {
  return pack.scan(buildViews(text).views, options);
}

/** The original texts of a rule's findings. */
export function hits(pack: CompiledPack, text: string, options: ScanOptions = {}): readonly string[] {
  return scan(pack, text, options).findings.map(({ span }) => text.slice(span.start, span.end));
}
