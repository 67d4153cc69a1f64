import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { loadPack } from '../../src/adapters/packs/load-pack.js';
import { reportProblems } from '../../src/adapters/packs/pack-yaml.js';
import { readEvidence, readSuppressions, readTags } from '../../src/adapters/packs/rules-data.js';
import { compilePack } from '../../src/engine/rules/compile-pack.js';
import { languageSchema, multilingualSchema, ruleSchema } from '../../src/engine/rules/pack/rule-schema.js';
import { createWordLookup } from '../../src/engine/rules/pack/word-lists.js';
import { preparePatterns } from '../../src/engine/rules/pattern/prepare-patterns.js';
import type { CompiledPack, Rule, RulesSignal } from '../../src/engine/rules/types.js';
import type { View } from '../../src/engine/text/view.js';
import { buildViews } from '../../src/engine/text/views.js';
import { exportRules, matcherDigest } from '../../src/rule-authoring/export-pack.js';
import { lintPack } from '../../src/rule-authoring/lint/lint-pack.js';
import { findEvidence } from '../../src/rule-authoring/rule-evidence.js';
import { testPack } from '../../src/rule-authoring/test-pack.js';

describe('the core pack', () => {
  const { pack, sources } = loadPack({ packs: ['rules/core'], today: '2026-01-01' });
  // Of the bundle where it is built, whose equality prepared-pack.test.ts proves: compiling the folder takes seconds.
  const bundled = loadPack({ today: '2026-01-01' }).pack;
  const compiled = compilePack(bundled);
  const rules = pack.layers.flatMap((layer) => layer.rules);

  const ALL = { paranoia: 3, exhaustive: true } as const;
  const scans = new Map<string, RulesSignal>();
  /** The compiled pack; two tests ask for all that it finds in an example, and it looks once. */
  const remembering: CompiledPack = {
    ...compiled,
    scan(views, options) {
      expect(options).toEqual(ALL);
      const text = views.find(({ kind }) => kind === 'raw')?.text ?? '';
      const known = scans.get(text) ?? compiled.scan(views, options);
      scans.set(text, known);
      return known;
    },
  };

  it('has exactly the lint problems that are suppressed', () => {
    const layers = pack.layers.map((layer, at) => ({ ...layer, prepared: bundled.layers[at]?.prepared }));
    const problems = lintPack({ ...pack, layers }, { tags: readTags() });
    const suppressions = readSuppressions();
    const isNew = ({ code, place }: (typeof problems)[number]): boolean => !suppressions[place.name]?.[code];
    expect(reportProblems(problems.filter(isNew), sources)).toBe('');
    const counts: Record<string, Record<string, number>> = {};
    for (const { code, place } of problems) {
      counts[place.name] = { ...counts[place.name], [code]: (counts[place.name]?.[code] ?? 0) + 1 };
    }
    // A suppression of a problem that was solved must go, too.
    const suppressed = Object.entries(suppressions).map(([rule, codes]) => [
      rule,
      Object.fromEntries(Object.entries(codes).map(([code, { count }]) => [code, count])),
    ]);
    expect(Object.fromEntries(suppressed)).toEqual(counts);
  }, 240_000);

  it('passes all examples of its rules', () => {
    expect(reportProblems(testPack(pack, remembering), sources)).toBe('');
  }, 240_000);

  it('drops what an exception covers in the full pack exactly as in a pack of that rule alone', () => {
    const excepting = bundled.layers.flatMap((layer) => {
      // Prepared once: the large exceptions are those of many rules.
      const words = createWordLookup(layer.words, () => {});
      const prepared = layer.prepared ?? preparePatterns(layer.rules, words, () => {});
      return layer.rules
        .filter(({ except }) => except.length > 0)
        .map((rule) => ({ layer: { ...layer, prepared }, rule }));
    });
    expect(excepting.length).toBeGreaterThan(100);
    const findAll = (one: CompiledPack, id: string, views: readonly View[]): readonly string[] => {
      const { findings, shadow } = one.scan(views, ALL);
      return [...findings, ...shadow]
        .filter(({ rule }) => rule === id)
        .map(({ view, shown }) => `${view} ${shown.start}-${shown.end}`);
    };
    const different = excepting.flatMap(({ layer, rule }) => {
      const alone = compilePack({ ...bundled, layers: [{ ...layer, rules: [rule] }] });
      const { positive, negative } = rule.examples;
      return [...positive, ...negative].flatMap(({ text }) => {
        const { views } = buildViews(text);
        const [full, single] = [remembering, alone].map((one) => findAll(one, rule.id, views));
        return JSON.stringify(full) === JSON.stringify(single) ? [] : [`${rule.id}: ${text}`];
      });
    });
    expect(different).toEqual([]);
  }, 600_000);

  it('has rules in at least 20 languages, each with positive and negative examples', () => {
    const languages = new Set(
      rules
        .filter(
          ({ status, examples }) => status === 'stable' && examples.positive.length > 0 && examples.negative.length > 0,
        )
        .flatMap((rule) => rule.languages),
    );
    expect(languages.size).toBeGreaterThanOrEqual(20);
  });

  it('has evidence for no rule that it lacks, and no counts that exceed the labelled texts', () => {
    const evidence = readEvidence();
    expect(evidence).toBeDefined();
    const { hits = {}, texts } = evidence ?? {};
    expect(Object.keys(hits).length).toBeGreaterThan(500);
    const ids = new Set(rules.map(({ id }) => id));
    const wrong = Object.entries(hits).filter(
      ([id, { attacks, benign }]) => !ids.has(id) || attacks > (texts?.attacks ?? 0) || benign > (texts?.benign ?? 0),
    );
    expect(wrong).toEqual([]);
  });

  it('shows the evidence of a rule only while its patterns are those that were measured', () => {
    const layer = pack.layers.find(({ name }) => name === 'core');
    const evidence = readEvidence();
    const rule = rules.find(({ id }) => id === 'context.fake-turn');
    if (!layer || !evidence || !rule) throw new Error('the core pack has changed');
    const digest = (changes: Partial<Rule>, words = layer.words): readonly string[] =>
      exportRules([{ ...rule, ...changes }], words).map(matcherDigest);
    const measured = { ...evidence, hits: { [rule.id]: { matcher: digest({})[0] ?? '', attacks: 6, benign: 28 } } };
    const find = (changes: Partial<Rule>) =>
      exportRules([{ ...rule, ...changes }], layer.words).map((one) => findEvidence(one, measured));
    expect(find({ score: 0.1, title: 'Another title', status: 'experimental' })).toEqual([{ attacks: 6, benign: 28 }]);
    expect(find({ match: { any: ['another pattern'] } })).toEqual([undefined]);
    expect(find({ except: ['another exception'] })).toEqual([undefined]);
    expect(find({ channels: ['user'] })).toEqual([undefined]);
    const listed = { match: { any: ['the {{word}}'] }, except: [] };
    expect(digest(listed, { word: ['one'] })).not.toEqual(digest(listed, { word: ['two'] }));
  });

  it.each([
    { name: 'schema', schema: ruleSchema },
    { name: 'multilingual.schema', schema: multilingualSchema },
    { name: 'language.schema', schema: languageSchema },
  ])('has a current JSON schema for editors: $name', ({ name, schema }) => {
    const made = z.toJSONSchema(schema, { io: 'input' });
    const { title, ...kept } = JSON.parse(readFileSync(`rules/${name}.json`, 'utf8'));
    expect(title).toBeTypeOf('string');
    expect(kept).toEqual(JSON.parse(JSON.stringify(made)));
  });
});
