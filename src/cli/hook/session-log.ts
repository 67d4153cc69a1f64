import { createHmac, randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  constants,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { errorCode } from '../../engine/errors.js';
import { parsedJson } from '../../integrations/json-value.js';
import type { RunLog, RunText } from '../../policy/index.js';
import { CliError } from '../terminal.js';

/** Time that a session is remembered after its last event, and number of sessions. */
const LIFE_MS = 24 * 3_600_000;
const MAX_SESSIONS = 200;
/** Bytes of a file, after which a session goes on in a new one; the one before it is kept. */
const MAX_BYTES = 4 * 1024 * 1024;

/** Begins the line of a text: no entry does. */
const TEXT = 'text ';
const textSchema: z.ZodType<RunText> = z.object({
  kind: z.enum(['read', 'said']),
  name: z.string(),
  text: z.string(),
  task: z.string().optional(),
});

/** The folder of a user's sessions. @see XDG Base Directory Specification */
export function stateFolder(): string {
  const base = process.platform === 'win32' ? process.env.LOCALAPPDATA : process.env.XDG_STATE_HOME;
  return join(base || join(homedir(), '.local', 'state'), 'portcullis', 'sessions');
}

/**
 * Keeps what sessions remember in a folder that only its owner reads: a file a session, a line an entry. Hooks that run at once
 * append to the same file, each with one write. A line that is damaged is left out. `keepsTurns`: what the user says, too.
 *
 * @throws CliError where the folder can't be used, from the functions of the log too
 */
export function openSessionLog(folder: string, keepsTurns = false): RunLog {
  let secret: Buffer | undefined;
  const derive = (use: string, session: string): Buffer => {
    secret ??= readSecret(folder);
    return createHmac('sha256', secret).update(`${use}\0${session}`).digest();
  };
  const filesOf = (session: string): SessionFiles =>
    sessionFiles(folder, derive('file', session).toString('hex', 0, 16));

  const linesOf = (session: string): readonly string[] => {
    prepareFolder(folder);
    const { numbers, file } = filesOf(session);
    return numbers.map(file).flatMap(readLines);
  };
  const append = (session: string, lines: readonly string[]): void => {
    prepareFolder(folder);
    const { numbers, file } = filesOf(session);
    const last = numbers.at(-1) ?? 0;
    const isFull = (statOf(file(last))?.size ?? 0) > MAX_BYTES;
    if (numbers.length === 0) forgetOld(folder);
    if (isFull) for (const number of numbers.slice(0, -1)) rmSync(file(number), { force: true });
    // After a line break: a write that was cut off spoils its own line alone.
    appendOnce(file(isFull ? last + 1 : last), `\n${lines.join('\n')}\n`);
  };

  const texts: RunLog['texts'] = {
    async read(session) {
      return usable(folder, () => linesOf(session).flatMap(readText));
    },
    // Of a result no more is kept than its end.
    async add(session, { start: _, ...text }) {
      if (text.kind === 'said' && !keepsTurns) return;
      usable(folder, () => append(session, [`${TEXT}${JSON.stringify(text)}`]));
    },
  };
  return {
    texts,
    async read(session) {
      return usable(folder, () => {
        const entries = linesOf(session).filter((line) => !line.startsWith(TEXT));
        return { seed: derive('seed', session).readUInt32BE(), entries };
      });
    },
    async add(session, entries) {
      usable(folder, () =>
        append(
          session,
          entries.map(({ line }) => line),
        ),
      );
    },
  };
}

/** The files of a session by number, the oldest first. None is renamed: hooks that begin a new one at once begin the same. */
interface SessionFiles {
  readonly numbers: readonly number[];
  readonly file: (number: number) => string;
}

function sessionFiles(folder: string, name: string): SessionFiles {
  const numbers = readdirSync(folder).flatMap((file) => {
    const number = file.startsWith(`${name}.`) ? /\.(\d{1,9})\.log$/.exec(file)?.[1] : undefined;
    return number === undefined ? [] : [Number(number)];
  });
  return { numbers: numbers.sort((a, b) => a - b), file: (number) => join(folder, `${name}.${number}.log`) };
}

/** The text in a line; none in an entry, and in a line that was cut off or damaged. */
function readText(line: string): readonly RunText[] {
  if (!line.startsWith(TEXT)) return [];
  const text = textSchema.safeParse(parsedJson(line.slice(TEXT.length)));
  return text.success ? [text.data] : [];
}

function prepareFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { uid, mode } = statSync(folder);
  if (process.getuid !== undefined && uid !== process.getuid())
    throw new CliError(`${folder} belongs to another user.`);
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) chmodSync(folder, 0o700);
}

/** The secret of all sessions. Of processes that make it at once, the first one's counts. */
function readSecret(folder: string): Buffer {
  const file = join(folder, 'secret');
  const known = readBytes(file);
  if (known !== undefined && known.length === 32) return known;
  const own = join(folder, `secret-${process.pid}`);
  writeFileSync(own, randomBytes(32), { mode: 0o600 });
  try {
    // A damaged one is replaced; what was kept under it is forgotten.
    if (known === undefined) linkSync(own, file);
    else renameSync(own, file);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(own, { force: true });
  }
  return readFileSync(file);
}

function readLines(file: string): readonly string[] {
  const { mtimeMs } = statOf(file) ?? {};
  if (mtimeMs === undefined) return [];
  if (Date.now() - mtimeMs > LIFE_MS) {
    rmSync(file, { force: true });
    return [];
  }
  const text = readBytes(file)?.toString('utf8') ?? '';
  return text.split('\n').filter((line) => line !== '');
}

function appendOnce(file: string, text: string): void {
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW = 0 } = constants;
  const descriptor = openSync(file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
  try {
    const bytes = Buffer.from(text);
    if (writeSync(descriptor, bytes) < bytes.length) throw new CliError('the disk is full');
  } finally {
    closeSync(descriptor);
  }
}

function forgetOld(folder: string): void {
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.log'))
    .map((name) => ({ file: join(folder, name), at: statOf(join(folder, name))?.mtimeMs ?? 0 }))
    .sort((a, b) => b.at - a.at);
  const old = files.filter(({ at }, index) => index >= MAX_SESSIONS - 1 || Date.now() - at > LIFE_MS);
  for (const { file } of old) rmSync(file, { force: true });
}

function statOf(file: string): { readonly size: number; readonly mtimeMs: number } | undefined {
  return statSync(file, { throwIfNoEntry: false });
}

function readBytes(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function usable<T>(folder: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`what sessions remember can't be kept in ${folder} (${errorCode(error) || 'unknown error'})`);
  }
}
