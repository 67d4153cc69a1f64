import { createHash } from 'node:crypto';
import { stringify } from 'yaml';
import { type RuleEvidence, readEvidence } from '../../adapters/packs/rules-data.js';
import { choosePatternForm, readSteps } from '../../engine/rules/compiled-rule.js';
import { createWordLookup } from '../../engine/rules/pack/word-lists.js';
import { preparePattern } from '../../engine/rules/pattern/prepare-pattern.js';
import { CliError } from '../terminal.js';
import { openPack, type RulesArgs, type RulesIo } from './rules-io.js';

export interface ListArgs extends RulesArgs {
  /** Only rules of this family. */
  readonly family?: string | undefined;
  /** Only rules for this language. */
  readonly language?: string | undefined;
}

/** Lists the rules of the packs. Exit code 0. */
export function listRules(args: ListArgs, io: RulesIo): number {
  const { compiled } = openPack(args, io);
  const rules = compiled.rules.filter(
    (rule) =>
      (args.family === undefined || rule.id.startsWith(`${args.family}.`)) &&
      (args.language === undefined || rule.languages.length === 0 || rule.languages.includes(args.language)),
  );
  if (args.json) {
    const rows = rules.map(({ id, version, status, severity, paranoia, score, languages, tags, title }) => ({
      id,
      version,
      status,
      severity,
      paranoia,
      score,
      languages,
      tags,
      title,
    }));
    io.out(
      `${JSON.stringify({ pack: compiled.name, packs: compiled.packs, rules_version: compiled.rulesVersion, rules: rows }, null, 2)}\n`,
    );
    return 0;
  }
  const width = Math.max(0, ...rules.map(({ id }) => id.length));
  for (const rule of rules) {
    const level = rule.paranoia === 1 ? '' : ` level ${rule.paranoia}`;
    const state = rule.status === 'stable' ? '' : ` ${rule.status}`;
    io.out(
      `${io.paint.bold(rule.id.padEnd(width))}  ${rule.score.toFixed(2)}  ${rule.title}${io.paint.dim(level + state)}\n`,
    );
  }
  const packs = compiled.packs.map(({ name, version, rules: count }) => `${name} ${version} (${count})`).join(', ');
  io.out(`${rules.length} rules; in force: ${packs}; ${compiled.rulesVersion}, threshold ${compiled.threshold}\n`);
  return 0;
}

/** Shows one rule with its examples and, for a rule of core, its evidence. Exit code 0. @throws CliError for an unknown id */
export function showRule(id: string, args: RulesArgs, io: RulesIo): number {
  const { compiled, loaded } = openPack(args, io);
  const rule = compiled.rules.find((one) => one.id === id);
  if (!rule) throw new CliError(`there is no rule "${id}"; see "portcullis rules list"`);
  const isCore = loaded.pack.layers.some(({ name, rules }) => name === 'core' && rules.some((one) => one.id === id));
  const evidence = isCore ? readEvidence() : undefined;
  if (args.json) {
    const counts = evidence && {
      ...(evidence.hits[id] ?? NO_HITS),
      of: evidence.texts,
      rules_version: evidence.rules_version,
    };
    io.out(`${JSON.stringify(counts ? { ...rule, evidence: counts } : rule, null, 2)}\n`);
    return 0;
  }
  io.out(stringify(rule, { lineWidth: 120 }));
  if (evidence) io.out(io.paint.dim(describeEvidence(id, evidence)));
  return 0;
}

const NO_HITS = { attacks: 0, benign: 0 };

function describeEvidence(id: string, { hits, texts, files, every, rules_version: measured }: RuleEvidence): string {
  const { attacks, benign } = hits[id] ?? NO_HITS;
  const sample = `${files.map(({ name }) => name).join(', ')}${every === 1 ? '' : `, one text in ${every}`}; rules ${measured}`;
  const counts = `${attacks} of ${texts.attacks} attacks and ${benign} of ${texts.benign} benign texts`;
  return `# evidence: matches ${counts} (${sample})\n`;
}

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
