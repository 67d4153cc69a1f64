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
