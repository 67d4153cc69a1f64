import { readFile, writeFile } from 'node:fs/promises';
import { errorCode } from '../../engine/errors.js';
import { CliError } from '../terminal.js';

/** Places in which `analyze` looks for its text. */
export interface TextSource {
  /** The argument; `-` is standard input. */
  readonly argument: string | undefined;
  readonly file: string | undefined;
}

function decode(bytes: Buffer): string {
  try {
    return bytes.toString('utf8');
  } catch {
    throw new CliError(`The text has ${bytes.length} bytes, more than this Node can hold in one string. Split it.`);
  }
}

/** All of standard input as text; invalid UTF-8 becomes U+FFFD. */
export async function readStandardInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk));
  return decode(Buffer.concat(chunks));
}

/**
 * The text to screen, whole and unchanged.
 * @throws CliError if there is no text, if there are two, or if a file can't be read.
 */
export async function readText({ argument, file }: TextSource): Promise<string> {
  if (file !== undefined) {
    if (argument !== undefined) throw new CliError('Give the text as an argument or with --file, not both.');
    return decode(await readBytes(file));
  }
  if (argument !== undefined && argument !== '-') return argument;
  if (argument === undefined && process.stdin.isTTY) {
    throw new CliError('No text to screen. Give it as an argument, with --file FILE, or pipe it in with "-".');
  }
  return readStandardInput();
}

async function readBytes(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    throw new CliError(`Can't read ${file}: ${describeError(error)}.`);
  }
}

/** The plain words for a failed file operation. */
export function describeError(error: unknown): string {
  const code = errorCode(error);
  const known: Readonly<Record<string, string>> = {
    ENOENT: 'there is no such file',
    EISDIR: 'it is a folder',
    ENOTDIR: 'a part of the path is no folder',
    EACCES: 'permission denied',
    ENOSPC: 'the disk is full',
    ERR_FS_FILE_TOO_LARGE: 'it is over 2 GiB',
  };
  return known[code] ?? (code || 'unknown reason');
}

/** Writes a report. @throws CliError naming the file */
export async function writeReport(file: string, content: string): Promise<void> {
  try {
    await writeFile(file, content);
  } catch (error) {
    throw new CliError(`Can't write ${file}: ${describeError(error)}.`);
  }
}
