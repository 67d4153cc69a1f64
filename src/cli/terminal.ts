import type { WriteStream } from 'node:tty';
import { styleText } from 'node:util';
import { PortcullisError } from '../engine/errors.js';
import type { ExplainedVerdict } from '../engine/explain.js';
import { edgeAfter, edgeBefore, markedParts, type Span } from '../engine/span.js';
import { chainWords } from '../engine/text/chain-words.js';
import { visibleText } from '../engine/text/visible-text.js';

/** Wraps text in terminal styles, or leaves it alone. */
export interface Paint {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  /** For a part of the screened text that a rule points at. */
  readonly marked: (text: string) => string;
  /** False when every style is the identity. */
  readonly colours: boolean;
}

/** Styles for a stream: colour on a terminal alone, and never when NO_COLOR is set. */
export function paintFor(
  stream: Pick<WriteStream, 'isTTY'>,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Paint {
  const colours = stream.isTTY === true && !environment.NO_COLOR && environment.TERM !== 'dumb';
  const style = (format: Parameters<typeof styleText>[0]) => (text: string) =>
    colours ? styleText(format, text, { validateStream: false }) : text;
  return {
    bold: style('bold'),
    dim: style('dim'),
    red: style('red'),
    green: style('green'),
    marked: style(['bgYellow', 'black']),
    colours,
  };
}

/** A progress line that is overwritten in place on a terminal; silent elsewhere. */
export interface ProgressLine {
  update(text: string): void;
  clear(): void;
}

/** A progress line that redraws at most every 100 ms. */
export function progressLine(stream: WriteStream, clock: () => number = () => performance.now()): ProgressLine {
  let drawn = Number.NEGATIVE_INFINITY;
  return {
    update(text) {
      const now = clock();
      if (stream.isTTY !== true || now - drawn < 100) return;
      drawn = now;
      stream.write(`\r\u001b[2K${text.slice(0, (stream.columns || 80) - 1)}`);
    },
    clear() {
      if (stream.isTTY === true) stream.write('\r\u001b[2K');
    },
  };
}

/** A time for a person: `40 s`, `3 min`, `2 h 5 min`. */
export function formatDuration(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** A rate for a person: whole numbers, but `0.5` for what takes seconds. */
export function formatRate(rate: number): string {
  return rate < 10 ? String(Number(rate.toFixed(1))) : String(Math.round(rate));
}

/** Progress of counted work: how much is done, the rate, and the time left. */
export interface ProgressCounter {
  update(what: string, done: number, of: number): void;
  clear(): void;
}

/** A progress line that counts. Rate and time left begin again with each new `what`. */
export function progressCounter(stream: WriteStream, now: () => number = () => performance.now()): ProgressCounter {
  const line = progressLine(stream, now);
  let current: string | undefined;
  let started = 0;
  return {
    update(what, done, of) {
      if (what !== current) [current, started] = [what, now()];
      const seconds = (now() - started) / 1_000;
      // The first second says little about the rest.
      const pace =
        seconds < 1 || done === 0
          ? ''
          : `, ${formatRate(done / seconds)} a second, ${formatDuration(((of - done) * seconds) / done)} left`;
      line.update(`${what}: ${done} of ${of}${pace}`);
    },
    clear: () => line.clear(),
  };
}

/** Length of what is shown around the marks of a long text. */
export interface MarkedTextOptions {
  readonly paint: Paint;
  /** Characters (UTF-16 code units) kept on each side of a mark; the rest becomes `[... n characters ...]`. */
  readonly around: number;
}

/** The text between two marks, shortened in its middle or at the text's ends. */
function between(text: string, from: number, to: number, around: number): string {
  const whole = from === 0 && to === text.length;
  const keepBefore = whole ? 10 * around : from === 0 ? 0 : around;
  const keepAfter = to === text.length ? 0 : around;
  if (to - from <= keepBefore + keepAfter + 40) return visibleText(text.slice(from, to));
  const headEnd = edgeBefore(text, from + keepBefore);
  const tailStart = edgeAfter(text, to - keepAfter);
  return `${visibleText(text.slice(from, headEnd))}[... ${tailStart - headEnd} characters ...]${visibleText(text.slice(tailStart, to))}`;
}

/**
 * The text for a person, with the spans marked: by colour on a terminal, else by `>>` and `<<`.
 * Control and invisible characters are written as `\u{…}`, so that the text can't drive the terminal.
 */
export function markedText(text: string, spans: readonly Span[], { paint, around }: MarkedTextOptions): string {
  const shown = markedParts(text, spans).map(({ start, end, isMarked }) => {
    if (!isMarked) return between(text, start, end, around);
    const isLong = end - start > 20 * around;
    const part = isLong ? between(text, start, end, 10 * around) : visibleText(text.slice(start, end));
    return paint.colours ? paint.marked(part) : `>>${part}<<`;
  });
  return shown.join('');
}

/** A table with a head, its columns as wide as their widest cell. */
export function textTable<T>(values: readonly T[], columns: Readonly<Record<string, (value: T) => string>>): string {
  const names = Object.keys(columns);
  const rows = values.map((value) => Object.values(columns).map((cell) => cell(value)));
  const widths = names.map((name, i) => Math.max(name.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const line = (cells: readonly string[]): string => cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  ');
  return [names, ...rows].map((cells) => `${line(cells).trimEnd()}\n`).join('');
}

function modelLine({ ml_version, explanation: { model } }: ExplainedVerdict): string {
  if (model.verdict === 'off') return ml_version === 'off' ? 'off' : 'not called, the rules decided';
  if (model.verdict === 'error') return `failed (${model.error ?? 'unknown reason'}); the rules decided`;
  const probability = model.score === null ? 'unknown' : `${(100 * model.score).toFixed(1)} %`;
  return `${model.verdict}, probability ${probability}${model.cleared === true ? '; it clears what the rules found' : ''}`;
}

/** A verdict for a person: what was decided and why, every finding, and the text with the places marked. */
export function screened(text: string, verdict: ExplainedVerdict, paint: Paint): string {
  const { explanation } = verdict;
  const blocked = verdict.verdict === 'block';
  const headline = blocked ? paint.red('BLOCK') : paint.green('ALLOW');
  const lines = [
    `${paint.bold(headline)}  score ${verdict.score.toFixed(3)}, blocks at ${verdict.threshold.toFixed(3)}, decided by ${verdict.decided_by}`,
    ...(verdict.reason === null ? [] : [verdict.reason]),
    `model: ${modelLine(verdict)}`,
  ];
  for (const { rule, span, view, chain, score, read_as: reading } of explanation.findings) {
    lines.push(`  ${paint.bold(rule)}  score ${score.toFixed(2)}, characters ${span.start}-${span.end}`);
    if (view !== 'raw' && view !== 'folded' && reading !== undefined)
      lines.push(paint.dim(`    read as: ${visibleText(reading)}; ${chainWords(chain)}`));
  }
  for (const { span, by, limit } of explanation.unseen) {
    lines.push(paint.dim(`  not read by ${by}: characters ${span.start}-${span.end} (limit ${limit})`));
  }
  const spans = [...explanation.findings.map(({ span }) => span), ...(blocked ? explanation.model.hotspots : [])];
  return `${lines.join('\n')}\n\n${markedText(text, spans, { paint, around: 200 })}\n`;
}

/** An error of the caller: printed as one line, without a stack, with exit code 2. Never holds screened text. */
export class CliError extends PortcullisError {
  override readonly name = 'CliError';
  readonly code = 'CLI_INVALID';
}
