import { reportProblems } from '../../adapters/packs/pack-yaml.js';
import { readSuppressions, readTags } from '../../adapters/packs/rules-data.js';
import { PackError, type PackProblem } from '../../engine/rules/pack/pack-error.js';
import type { Finding, NearMiss } from '../../engine/rules/types.js';
import { buildViews } from '../../engine/text/views.js';
import { lintPack } from '../../rule-authoring/lint/lint-pack.js';
import { testPack } from '../../rule-authoring/test-pack.js';
import { markedText } from '../terminal.js';
import { openPack, type RulesArgs, type RulesIo } from './rules-io.js';

/** Runs the examples of the packs named, else of core; of one rule, or one family, where it is named. Exit code 0 when all hold, 1 when not. */
export function testRules(args: RulesArgs & { readonly rule?: string | undefined }, io: RulesIo): number {
  return check(args, io, ({ loaded, compiled }) => {
    const wanted = args.rule;
    const rules = loaded.named.filter(({ id }) => wanted === undefined || id === wanted || id.startsWith(`${wanted}.`));
    const examples = rules.flatMap((rule) => Object.values(rule.examples).flat()).length;
    return [testPack(loaded.pack, compiled, rules), `${rules.length} rules, ${examples} examples`];
  });
}

/** Lints the packs named, else core: files, schema, patterns, tags, examples. Exit code 0 clean, 1 with problems. */
export function lintRules(args: RulesArgs, io: RulesIo): number {
  return check(args, io, ({ loaded }) => {
    const options = { tags: readTags(), suppressions: readSuppressions() };
    return [lintPack(loaded.pack, options, loaded.named), `${loaded.named.length} rules`];
  });
}

function check(
  args: RulesArgs,
  io: RulesIo,
  find: (pack: ReturnType<typeof openPack>) => readonly [problems: readonly PackProblem[], what: string],
): number {
  const print = (problems: readonly PackProblem[], report: string, what: string): number => {
    const count = `${problems.length} problem${problems.length === 1 ? '' : 's'}`;
    if (args.json) io.out(`${JSON.stringify({ problems }, null, 2)}\n`);
    else if (problems.length === 0) io.out(`${io.paint.green('ok')} ${what}\n`);
    else io.out(`${report}\n${io.paint.red(count)} in ${what}\n`);
    return problems.length === 0 ? 0 : 1;
  };
  try {
    const opened = openPack(args, io);
    const [problems, what] = find(opened);
    return print(problems, reportProblems(problems, opened.loaded.sources), what);
  } catch (error) {
    if (!(error instanceof PackError)) throw error;
    return print(error.problems, error.message, 'the pack');
  }
}

const SHOWN = 200;

/** Shows how the rules read a text: its views, the rules that match and the near misses. Exit code 0. */
export function explainText(text: string, args: RulesArgs, io: RulesIo): number {
  const { compiled, loaded } = openPack(args, io);
  const packs = loaded.contents.map(({ head: { name, version } }, at) => ({ name, version, path: loaded.paths[at] }));
  const { views, unseen } = buildViews(text);
  const signal = compiled.scan(views, { exhaustive: true });
  const near = compiled.nearMisses(views);
  if (args.json) {
    const shown = views.map(({ kind, chain, text: read }) => ({ kind, chain, length: read.length, text: read }));
    io.out(
      `${JSON.stringify({ packs, rules_version: compiled.rulesVersion, threshold: compiled.threshold, views: shown, unseen, ...signal, near }, null, 2)}\n`,
    );
    return 0;
  }
  const { paint } = io;
  const verdict = signal.score >= compiled.threshold ? paint.red('block') : paint.green('allow');
  io.out(
    `${verdict} score ${signal.score.toFixed(3)}, threshold ${compiled.threshold}, rules ${compiled.rulesVersion}\n`,
  );
  for (const { name, version, path } of packs) io.out(paint.dim(`pack ${name} ${version} from ${path}\n`));
  io.out('\n');
  io.out(`${paint.bold('Views')}\n`);
  for (const view of views) {
    const name = `${view.kind}${view.chain.length > 0 ? ` (${view.chain.join(' > ')})` : ''}`;
    io.out(
      `  ${name}, ${view.text.length} characters: ${plain(view.text.slice(0, SHOWN))}${view.text.length > SHOWN ? '...' : ''}\n`,
    );
  }
  for (const { transform, limit } of unseen)
    io.out(`  ${paint.dim(`not all was read: ${transform} stopped at ${limit}`)}\n`);
  const findingLine = ({ rule, score, view, span: { start, end } }: Finding): string =>
    `${rule}  ${score.toFixed(2)}  ${view} ${start}-${end}  ${plain(text.slice(start, Math.min(end, start + 120)))}`;
  section('Matches', signal.findings.map(findingLine), io);
  section('In shadow', signal.shadow.map(findingLine), io);
  const related = near.filter(isRelated);
  section('Near misses', related.map(nearLine), io);
  if (near.length > related.length)
    io.out(
      `\n${io.paint.dim(`${near.length - related.length} more rules with fewer than two steps found (see --json)`)}\n`,
    );
  const spans = signal.findings.map(({ span }) => span);
  io.out(`\n${markedText(text, spans, { paint, around: 400 })}\n`);
  return 0;
}

const plain = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ');

function section(title: string, lines: readonly string[], io: RulesIo): void {
  if (lines.length === 0) return;
  io.out(`\n${io.paint.bold(title)}\n${lines.map((line) => `  ${line}\n`).join('')}`);
}

/** A step alone, such as "the previous", occurs in any text: it says nothing about the rule. */
const isRelated = ({ why, steps }: NearMiss): boolean => why !== 'missing steps' || steps.length > 1;

const nearLine = ({ rule, view, steps, of, why }: NearMiss): string =>
  `${rule}  ${view}: steps ${steps.join(', ')} of ${of}, ${why}`;
