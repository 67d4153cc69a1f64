import { createReadStream, createWriteStream } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import { Command } from 'commander';
import { type BatchCounts, screenRows } from './batch-rows.js';
import { CliError } from './cli-error.js';
import { type EngineFlags, withEngineFlags } from './engine-flags.js';
import { jsonLines } from './json-lines.js';
import { openEngine } from './open-engine.js';
import { progressLine } from './progress-line.js';
import { reasonOf } from './read-text.js';

interface BatchFlags extends EngineFlags {
  readonly out: string;
  readonly textField: string;
  readonly idField?: string;
}

/** Longer lines are refused one by one; V8 holds no string over 512 MiB. */
const maxLineBytes = 256 * 1024 * 1024;

const realPathOf = async (file: string): Promise<string | undefined> => realpath(file).catch(() => undefined);

/** Opens both ends before any work. @throws CliError naming the file that can't be used. */
const openStreams = async (input: string, out: string): Promise<{ source: AsyncIterable<Buffer>; sink: Writable }> => {
  const inputPath = input === '-' ? undefined : await realPathOf(input);
  if (inputPath !== undefined && inputPath === (await realPathOf(out))) {
    throw new CliError('INPUT and --out are the same file: it would be overwritten while it is read.');
  }
  const opened = async (file: string, how: string): Promise<Awaited<ReturnType<typeof open>>> => {
    try {
      const handle = await open(file, how);
      if ((await handle.stat()).isDirectory()) throw Object.assign(new Error(), { code: 'EISDIR' });
      return handle;
    } catch (error) {
      throw new CliError(`Can't ${how === 'r' ? 'read' : 'write'} ${file}: ${reasonOf(error)}.`);
    }
  };
  const source = input === '-' ? process.stdin : createReadStream('', { fd: await opened(input, 'r') });
  const sink = out === '-' ? process.stdout : createWriteStream('', { fd: await opened(out, 'w') });
  return { source, sink };
};

const summary = ({ rows, blocked, bad }: BatchCounts, seconds: number): string =>
  `${rows} rows in ${seconds.toFixed(1)} s: ${blocked} blocked, ${rows - blocked - bad} allowed, ${bad} not screened`;

const runBatch = async (input: string, flags: BatchFlags): Promise<void> => {
  const { source, sink } = await openStreams(input, flags.out);
  const engine = await openEngine(flags);
  const progress = progressLine(process.stderr);
  const started = performance.now();
  try {
    const counts = await screenRows(jsonLines(source, maxLineBytes), sink, {
      engine,
      textField: flags.textField,
      idField: flags.idField,
      onProgress: ({ rows, blocked }) => {
        const rate = Math.round(rows / ((performance.now() - started) / 1000));
        progress.update(`${rows} rows, ${blocked} blocked, ${rate} a second`);
      },
    });
    progress.clear();
    const seconds = (performance.now() - started) / 1000;
    const said = flags.json ? JSON.stringify({ ...counts, seconds }) : summary(counts, seconds);
    process.stderr.write(`${said}\n`);
    process.exitCode = counts.bad > 0 ? 1 : 0;
  } finally {
    await engine.close();
  }
};

/** `portcullis batch`: JSON Lines in, one row of id and Verdict out, in the same order. */
export const batchCommand = (): Command =>
  withEngineFlags(
    new Command('batch')
      .description(
        'screen a JSON Lines file row by row; exits with 0, with 1 if some rows could not be screened, with 2 for an error',
      )
      .argument('<input>', 'a JSON Lines file; "-" reads standard input')
      .requiredOption('--out <file>', 'where the rows go; "-" is standard output')
      .option('--text-field <field>', 'the field that holds the text', 'text')
      .option('--id-field <field>', 'the field that names the row (default: "id", or the line number)'),
  ).action(runBatch);
