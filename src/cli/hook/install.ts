import { existsSync } from 'node:fs';
import { mkdir, readFile, realpath, rename, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { errorCode } from '../../engine/errors.js';
import type { FlowPolicy, Policy } from '../../policy/index.js';
import { describeError } from '../screen/text-files.js';
import { CliError } from '../terminal.js';
import { type HookEntry, withHooks } from './settings-file.js';

/** Owner of the settings: the project (committed), this checkout alone, or the user. */
export type Scope = 'project' | 'local' | 'user';

interface ScopeFlags {
  readonly scope: Scope;
  readonly yes?: boolean;
}

export interface PolicyFlags {
  readonly user?: Policy['user'];
  readonly toolCall?: Policy['tool_call'];
  readonly toolResult?: Policy['tool_result'];
  readonly suspicious?: FlowPolicy['suspicious'];
  readonly foreign?: FlowPolicy['foreign'];
}

export interface InstallFlags extends ScopeFlags, PolicyFlags {
  readonly service?: string;
}

/** Seconds that Claude Code waits for a hook: above the default `--timeout` of a screening. */
const HOST_TIMEOUT_S = 30;

/** Shows the change to the settings and writes it if confirmed. @throws CliError with what to fix */
export async function installHooks(flags: InstallFlags, extra: readonly string[] = []): Promise<void> {
  await change(flags, entryFor(flags, extra), 'The hooks are already installed.');
}

/** Removes what `installHooks` wrote. @throws CliError with what to fix */
export async function uninstallHooks(flags: ScopeFlags): Promise<void> {
  await change(flags, undefined, 'There are no portcullis hooks to remove.');
}

async function change({ scope, yes }: ScopeFlags, entry: HookEntry | undefined, nothing: string): Promise<void> {
  const file = await settingsFile(scope);
  const before = await readContent(file);
  const after = withHooks(before ?? '', entry, file);
  if (after === (before ?? '')) {
    process.stdout.write(`${file}: ${nothing}\n`);
    return;
  }
  process.stdout.write(`${file}${before === undefined ? ' (new)' : ''}\n${lineDiff(before ?? '', after)}\n`);
  if (!yes && !(await isConfirmed(file))) {
    process.stdout.write('Nothing was written.\n');
    return;
  }
  if ((await readContent(file)) !== before)
    throw new CliError(`${file} was changed in the meantime; nothing was written.`);
  await writeWhole(file, after);
  process.stdout.write(`Written. Claude Code reads it when the next session starts.\n`);
}

function entryFor(flags: InstallFlags, extra: readonly string[]): HookEntry {
  const { user, toolCall, toolResult, suspicious, foreign, service } = flags;
  const policy = { user, 'tool-call': toolCall, 'tool-result': toolResult, suspicious, foreign };
  const given = Object.entries(policy).flatMap(([name, action]) =>
    action === undefined ? [] : [[name, action] as const],
  );
  if (service === undefined) {
    const words = [...given.flatMap(([name, action]) => [`--${name}`, action]), ...extra];
    const command = [...portcullis(), 'hook', ...words.map(quoted)].join(' ');
    return { type: 'command', command, timeout: HOST_TIMEOUT_S, onFailure: 'block' };
  }
  if (extra.length > 0)
    throw new CliError('flags after "--" cannot be used with --service: configure them on the service.');
  if (!URL.canParse(service) || !/^https?:/.test(service))
    throw new CliError('--service takes an http or https URL, e.g. http://127.0.0.1:8080');
  const url = new URL(`${service.replace(/\/+$/, '')}/hooks/claude-code`);
  if (url.username !== '' || url.password !== '') throw new CliError('--service takes a URL without a password.');
  for (const [name, action] of given) url.searchParams.set(name.replace('-', '_'), action);
  return {
    type: 'http',
    url: url.href,
    headers: { Authorization: 'Bearer $PORTCULLIS_API_KEY' },
    allowedEnvVars: ['PORTCULLIS_API_KEY'],
    timeout: HOST_TIMEOUT_S,
    onFailure: 'block',
  };
}

/** The words that start this program: the project's own copy where it has one, since its settings are for other machines too. */
function portcullis(): readonly string[] {
  const own = join('node_modules', '.bin', 'portcullis');
  if (existsSync(own)) return ['"$CLAUDE_PROJECT_DIR"/node_modules/.bin/portcullis'];
  if (/[\\/]_npx[\\/]/.test(process.argv[1] ?? ''))
    throw new CliError(
      'npx runs a copy from a cache that npm clears, and a hook that is gone blocks everything. Install the tarball of portcullis first (npm install --save-dev ./portcullis-*.tgz, or -g), or use --service.',
    );
  return [quoted(process.execPath), quoted(process.argv[1] ?? 'portcullis')];
}

function quoted(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  return process.platform === 'win32' ? `"${word}"` : `'${word.replaceAll("'", "'\\''")}'`;
}

async function settingsFile(scope: Scope): Promise<string> {
  if (scope === 'user')
    return followed(join(process.env.CLAUDE_CONFIG_DIR ?? join(homedir(), '.claude'), 'settings.json'));
  return followed(join(process.cwd(), '.claude', scope === 'local' ? 'settings.local.json' : 'settings.json'));
}

/** Follows a link, so that writing doesn't replace it. */
async function followed(file: string): Promise<string> {
  return realpath(file).catch(() => file);
}

async function readContent(file: string): Promise<string | undefined> {
  try {
    const bytes = await readFile(file);
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) throw new CliError(`${file} is not UTF-8; nothing was written.`);
    if (errorCode(error) === 'ENOENT') return undefined;
    throw new CliError(`Can't read ${file}: ${describeError(error)}.`);
  }
}

/** Whole or not at all: a full disk leaves the old file. */
async function writeWhole(file: string, content: string): Promise<void> {
  const next = `${file}.portcullis-${process.pid}`;
  try {
    await mkdir(dirname(file), { recursive: true });
    const mode = await stat(file).then(
      (old) => old.mode & 0o777,
      () => 0o644,
    );
    await writeFile(next, content, { mode });
    await rename(next, file);
  } catch (error) {
    throw new CliError(`Can't write ${file}: ${describeError(error)}.`);
  }
}

async function isConfirmed(file: string): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new CliError('standard input is not a terminal, so there is nobody to ask; pass --yes to write the change.');
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return /^y(es)?$/i.test((await terminal.question(`Write ${file}? [y/N] `)).trim());
  } finally {
    terminal.close();
  }
}

/** Lines around a change that are shown with it. */
const CONTEXT = 2;

/**
 * The lines that differ, marked by `-` and `+`, with two around them. O(n·m) in lines: for files of a person's size.
 * @see the longest common subsequence, as `diff` computes it
 */
export function lineDiff(before: string, after: string): string {
  const old = before === '' ? [] : before.replace(/\r?\n$/, '').split(/\r?\n/);
  const fresh = after === '' ? [] : after.replace(/\r?\n$/, '').split(/\r?\n/);
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint32Array(fresh.length + 1));
  const at = (i: number, j: number): number => lengths[i]?.[j] ?? 0;
  for (let i = old.length - 1; i >= 0; i -= 1) {
    const row = lengths[i] as Uint32Array;
    for (let j = fresh.length - 1; j >= 0; j -= 1)
      row[j] = old[i] === fresh[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  }
  const lines: string[] = [];
  for (let i = 0, j = 0; i < old.length || j < fresh.length; ) {
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) {
      lines.push(`  ${old[i]}`);
      i += 1;
      j += 1;
    } else if (i < old.length && (j === fresh.length || at(i + 1, j) >= at(i, j + 1))) lines.push(`- ${old[i++]}`);
    else lines.push(`+ ${fresh[j++]}`);
  }
  const isChange = lines.map((line) => !line.startsWith(' '));
  const isNear = (index: number): boolean =>
    isChange.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1).some(Boolean);
  return lines.filter((_, index) => isNear(index)).join('\n');
}
