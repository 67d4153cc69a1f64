import { stringify } from 'yaml';
import { type RuleEvidence, readEvidence } from '../../adapters/packs/rules-data.js';
import { CliError } from '../cli-error.js';
import { openPack, type RulesArgs, type RulesIo } from './rules-io.js';

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
