import type { RegexCompiler } from '../ports.js';
import { allowancesFor } from './allowances.js';
import { type CompiledRule, formOf, shapeOf, viewBit } from './compiled-rule.js';
import type { PackPlace, PackProblem } from './pack/pack-error.js';
import { createWordLookup } from './pack/word-lists.js';
import type { Atom } from './pattern/atoms.js';
import { type AtomTable, createAtomTable } from './pattern/atoms.js';
import { foldLiteral } from './pattern/fold-literal.js';
import type { WordLookup } from './pattern/parse-pattern.js';
import { type PreparedPatterns, preparePattern } from './pattern/prepare-pattern.js';
import { preparedKey } from './pattern/prepared-patterns.js';
import { rarestStepsFirst } from './prefilter/rule-alarm.js';
import type { Pack, Rule } from './types.js';

export interface CompiledRules {
  readonly rules: readonly CompiledRule[];
  /** Distinct patterns. */
  readonly patterns: number;
  readonly problems: readonly PackProblem[];
}

/** What a layer's patterns are made of. */
interface LayerPatterns {
  readonly words: WordLookup;
  readonly prepared: PreparedPatterns | undefined;
}

/** Prepares and compiles every pattern of a pack's living rules. Mistakes are collected, not thrown. */
export function compileRules(pack: Pack, compiler: RegexCompiler): CompiledRules {
  const problems: PackProblem[] = [];
  const table = createAtomTable(compiler, pack.isChecked);
  const layered = pack.layers.flatMap((layer) => {
    const words = createWordLookup(layer.words, ({ list, entry, problem }) => {
      const { at, length, ...rest } = problem;
      problems.push({ ...rest, place: { in: 'words', name: list, path: [list, entry], at, length } });
    });
    return layer.rules
      .filter((rule) => rule.status !== 'deprecated')
      .map((rule) => ({ rule, layer: { words, prepared: layer.prepared } }));
  });

  const atomOf = (source: string, rule: Rule, layer: LayerPatterns, place: PackPlace): Atom | undefined => {
    const form = formOf(rule);
    const ready = layer.prepared?.get(preparedKey(source, form));
    if (ready) return addAtom(table, ready, place, problems);
    const prepared = preparePattern(source, form, layer.words, foldLiteral);
    if (!prepared.ok) {
      for (const { at, length, ...rest } of prepared.problems) {
        problems.push({ ...rest, place: { ...place, at, length } });
      }
      return undefined;
    }
    return addAtom(table, prepared.pattern, place, problems);
  };

  const rules = layered.map(({ rule, layer }, index): CompiledRule => {
    const { shape, steps } = shapeOf(rule.match);
    const compile = (patterns: readonly string[], path: readonly (string | number)[]): readonly Atom[] =>
      patterns.flatMap(
        (source, at) => atomOf(source, rule, layer, { in: 'rule', name: rule.id, path: [...path, at] }) ?? [],
      );
    const compiledSteps = steps.map(({ patterns, path }) => compile(patterns, path));
    const compiled: CompiledRule = {
      index,
      rule,
      score: rule.status === 'experimental' ? 0 : rule.score,
      views: rule.views.reduce((mask, view) => mask | viewBit(view), 0),
      shape,
      steps: compiledSteps,
      order: rarestStepsFirst(compiledSteps),
      except: [
        ...compile(rule.except, ['except']),
        ...allowancesFor(pack.allow, rule).flatMap(
          ({ source, at }) => atomOf(source, rule, layer, { in: 'overlay', name: '', path: ['allow', at] }) ?? [],
        ),
      ],
    };
    return compiled;
  });
  return { rules, patterns: table.size, problems };
}

function addAtom(
  table: AtomTable,
  prepared: Parameters<AtomTable['add']>[0],
  place: PackPlace,
  problems: PackProblem[],
): Atom | undefined {
  try {
    return table.add(prepared);
  } catch (error) {
    // The compiler's refusal is the author's mistake, to be told with all the others.
    const message = `RE2 refuses this pattern: ${error instanceof Error ? error.message : String(error)}.`;
    problems.push({ code: 'PACK027', message, advice: 'See the RE2 syntax page.', place });
    return undefined;
  }
}
