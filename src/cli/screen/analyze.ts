import { Command } from 'commander';
import { CHANNELS, type Channel } from '../../engine/channel.js';
import { choice, type EngineFlags, openEngine, withEngineFlags, withIsolation } from '../engine-flags.js';
import { CliError, paintFor } from '../terminal.js';
import { readText } from './text-files.js';

interface AnalyzeFlags extends EngineFlags {
  readonly file?: string;
  readonly channel?: Channel;
  readonly task?: string;
  readonly explain?: boolean;
  readonly allowEmpty?: boolean;
  readonly form: 'extended' | 'minimal';
}

async function analyzeText(argument: string | undefined, flags: AnalyzeFlags): Promise<void> {
  if (flags.form === 'minimal' && flags.explain) {
    throw new CliError('--explain needs the extended form: leave out --form minimal.');
  }
  const text = await readText({ argument, file: flags.file });
  if (text === '' && !flags.allowEmpty)
    throw new CliError(
      'The text is empty. Check what feeds this command, or pass --allow-empty to screen it as it is.',
    );
  const engine = await openEngine(flags);
  const { channel, task } = flags;
  try {
    if (flags.explain) {
      const verdict = await engine.analyze(text, { channel, task, explain: true });
      const { screened } = await import('../terminal.js');
      const shown = flags.json
        ? `${JSON.stringify(verdict, null, 2)}\n`
        : screened(text, verdict, paintFor(process.stdout));
      process.stdout.write(shown);
      process.exitCode = verdict.verdict === 'block' ? 1 : 0;
      return;
    }
    const verdict = await engine.analyze(text, { channel, task });
    const { toMinimal } = await import('../../engine/verdict.js');
    const shown = flags.form === 'minimal' ? toMinimal(verdict) : verdict;
    process.stdout.write(`${JSON.stringify(shown, null, 2)}\n`);
    process.exitCode = verdict.verdict === 'block' ? 1 : 0;
  } finally {
    await engine.close();
  }
}

/** `portcullis analyze`: one text, one Verdict; exit code 0 allow, 1 block, 2 error. */
export function analyzeCommand(): Command {
  return withEngineFlags(
    withIsolation(
      new Command('analyze')
        .description(
          'screen one text; prints the Verdict as JSON and exits with 0 for allow, 1 for block, 2 for an error',
        )
        .argument('[text]', 'the text; if it is omitted or "-", standard input is read')
        .option('--file <file>', 'read the text from a file')
        .addOption(choice('--channel <channel>', 'origin of the text', CHANNELS))
        .option('--task <text>', 'what the user asked the agent for: evidence for the model')
        .option('--allow-empty', 'screen an empty text instead of reporting an error')
        .option('--explain', 'show the findings in the text; with --json, as JSON')
        .addOption(choice('--form <form>', 'the fields of the Verdict', ['extended', 'minimal'], 'extended')),
    ),
  ).action(analyzeText);
}
