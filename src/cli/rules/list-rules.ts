import { hash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { stringify } from 'yaml';
import { NO_CORE } from '../../adapters/packs/load-pack.js';
import { signFile } from '../../adapters/packs/minisign.js';
import { writePackBundle } from '../../adapters/packs/pack-bundle.js';
import { type RuleEvidence, readEvidence, type TextCounts } from '../../adapters/packs/rules-data.js';
import { exportPack, exportRules } from '../../rule-authoring/export-pack.js';
import { findEvidence } from '../../rule-authoring/rule-evidence.js';
import { CliError } from '../terminal.js';
import { openPack, type RulesArgs, type RulesIo } from './rules-io.js';

export interface ListArgs extends RulesArgs {
  readonly family?: string | undefined;
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
      ...{ id, version, status, severity, paranoia },
      ...{ score, languages, tags, title },
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
  const core = loaded.pack.layers.find(({ name, rules }) => name === 'core' && rules.some((one) => one.id === id));
  const evidence = core && readEvidence();
  if (!core || !evidence) {
    io.out(args.json ? `${JSON.stringify(rule, null, 2)}\n` : stringify(rule, { lineWidth: 120 }));
    return 0;
  }
  const [exported] = exportRules([rule], core.words);
  const hits = exported && findEvidence(exported, evidence);
  if (args.json) {
    const counts = hits && { ...hits, of: evidence.texts, rules_version: evidence.rules_version };
    io.out(`${JSON.stringify({ ...rule, evidence: counts }, null, 2)}\n`);
    return 0;
  }
  io.out(stringify(rule, { lineWidth: 120 }));
  io.out(io.paint.dim(hits ? describeEvidence(hits, evidence) : NO_EVIDENCE));
  return 0;
}

const NO_EVIDENCE = '# evidence: none; its patterns have changed since rules/EVIDENCE.json was measured\n';

function describeEvidence({ attacks, benign }: TextCounts, evidence: RuleEvidence): string {
  const { texts, files, every, rules_version: measured } = evidence;
  const sample = `${files.map(({ name }) => name).join(', ')}${every === 1 ? '' : `, one text in ${every}`}; rules ${measured}`;
  const counts = `${attacks} of ${texts.attacks} attacks and ${benign} of ${texts.benign} benign texts`;
  return `# evidence: matches ${counts} (${sample})\n`;
}

/**
 * Writes the rules in force as JSON for another regex compiler, with a digest over the rules. Exit code 0.
 *
 * @throws PackError
 */
export function printRules(args: RulesArgs, io: RulesIo): number {
  const { loaded, compiled } = openPack(args, io);
  const rules = exportPack(loaded.pack);
  const content = {
    format: 'portcullis-rules/1',
    syntax: 'RE2, Unicode, case-sensitive; no flags',
    rules_version: compiled.rulesVersion,
    threshold: loaded.pack.threshold,
    sha256: hash('sha256', JSON.stringify(rules)),
    rules,
  };
  io.out(`${JSON.stringify(content, null, args.json ? undefined : 1)}\n`);
  return 0;
}

export interface SignArgs extends RulesArgs {
  /** File of a secret key without a password. */
  readonly sign?: string | undefined;
  readonly out?: string | undefined;
}

/** Writes one pack as a bundle, and its signature beside it. Exit code 0. @throws CliError, PackError */
export function signPack(args: SignArgs, io: RulesIo): number {
  const { sign, out, pack = [] } = args;
  if (sign === undefined || !out?.endsWith('.json')) throw new CliError('--sign needs --out FILE.json');
  if (pack.filter((name) => name !== NO_CORE).length !== 1) throw new CliError('--sign needs one --pack');
  const content = openPack(args, io).loaded.contents.at(-1);
  if (content === undefined) throw new CliError('--sign needs one --pack');
  const { name, version } = content.head;
  const bundle = Buffer.from(writePackBundle(content));
  const signature = signFile(bundle, readFileSync(sign, 'utf8'), `portcullis pack ${name} ${version}`);
  if (signature === undefined)
    throw new CliError(
      `${sign} is not a secret key of minisign without a password. Make one with \`minisign -G -W\`, or sign the bundle again by \`minisign -S -m\`.`,
    );
  writeFileSync(out, bundle);
  writeFileSync(`${out}.minisig`, signature);
  io.out(`${out} and ${out}.minisig: ${name} ${version}, ${content.rules.length} rules\n`);
  return 0;
}
