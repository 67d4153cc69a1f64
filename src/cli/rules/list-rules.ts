import { stringify } from 'yaml';
import { type RuleEvidence, readEvidence } from '../../adapters/packs/rules-data.js';
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
