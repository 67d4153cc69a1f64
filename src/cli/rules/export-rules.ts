import { createHash } from 'node:crypto';
import { choosePatternForm, readSteps } from '../../engine/rules/compiled-rule.js';
import { createWordLookup } from '../../engine/rules/pack/word-lists.js';
import { preparePattern } from '../../engine/rules/pattern/prepare-pattern.js';
import { openPack, type RulesArgs, type RulesIo } from './rules-io.js';

/** A rule in plain RE2: lists expanded, patterns as the engine compiles them. */
interface ExportedRule {
  readonly id: string;
  readonly version: string;
  readonly title: string;
  readonly status: string;
  readonly severity: string;
  readonly paranoia: number;
  readonly score: number;
  readonly languages: readonly string[];
  readonly tags: readonly string[];
  readonly channels: readonly string[];
  readonly views: readonly string[];
  readonly shape: { readonly kind: 'any' | 'sequence' | 'all'; readonly gap?: number; readonly within?: number };
  /** Each step is a list of alternatives. */
  readonly steps: readonly (readonly string[])[];
  readonly except: readonly string[];
  readonly examples: { readonly positive: readonly string[]; readonly negative: readonly string[] };
}

/**
 * Writes the rules in force as JSON for another regex compiler, with a digest over the rules. Exit code 0.
 *
 * @throws PackError
 */
export function exportRules(args: RulesArgs, io: RulesIo): number {
  const { loaded, compiled } = openPack(args, io);
  const rules = loaded.pack.layers.flatMap(({ words, rules }) => {
    const lookup = createWordLookup(words, () => undefined);
    return rules
      .filter(({ status }) => status !== 'deprecated')
      .map((rule): ExportedRule => {
        const re2 = (source: string): string => {
          const made = preparePattern(source, choosePatternForm(rule), lookup);
          // Compiled above: its mistakes were reported there.
          if (!made.ok) throw new Error(`a pattern of ${rule.id} compiled, and could not be prepared`);
          return made.pattern.source;
        };
        const { shape, steps } = readSteps(rule.match);
        const { id, version, title, status, severity, paranoia, score, languages, tags, channels, views } = rule;
        return {
          ...{ id, version, title, status, severity, paranoia, score, languages, tags, channels, views, shape },
          steps: steps.map(({ patterns }) => patterns.map(re2)),
          except: rule.except.map(re2),
          examples: {
            positive: rule.examples.positive.map(({ text }) => text),
            negative: rule.examples.negative.map(({ text }) => text),
          },
        };
      });
  });
  const content = {
    format: 'portcullis-rules/1',
    syntax: 'RE2, Unicode, case-sensitive; no flags',
    rules_version: compiled.rulesVersion,
    threshold: loaded.pack.threshold,
    sha256: createHash('sha256').update(JSON.stringify(rules)).digest('hex'),
    rules,
  };
  io.out(`${JSON.stringify(content, null, args.json ? undefined : 1)}\n`);
  return 0;
}
