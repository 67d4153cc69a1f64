import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { vi } from 'vitest';

const main = join('dist', 'cli', 'main.js');

export interface CliRun {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function expectBuilt(): void {
  if (!existsSync(main)) throw new Error('Run "npm run build" first: these tests start the built command line.');
}

/**
 * Runs the built command line as a process of its own; standard input is what is given, else empty. It is ended after
 * `timeoutMs`. A start takes a third of a second of CPU time: @see runCommand
 */
export function runCli(args: readonly string[], stdin: string | Buffer = '', timeoutMs = 240_000): CliRun {
  expectBuilt();
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], {
    input: stdin,
    encoding: 'utf8',
    timeout: timeoutMs,
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, NO_COLOR: '1' },
  });
  return { status, stdout, stderr };
}

let runs = 0;

/**
 * Runs the built command line in this process: `main.js` is evaluated again, with arguments, standard streams and exit code
 * of its own; the modules that it imports stay. For tests of what a command does, not of its process.
 */
export async function runCommand(args: readonly string[], stdin: string | Buffer = ''): Promise<CliRun> {
  expectBuilt();
  const { argv, exitCode, env } = process;
  const listeners = process.stdout.listeners('error');
  const written = { stdout: '', stderr: '' };
  let ended: CliRun | undefined;
  const end = (code: unknown): CliRun => ({ status: Number(code ?? 0), ...written });
  const input = Readable.from(stdin.length === 0 ? [] : [Buffer.from(stdin)]);
  const mocks = [
    ...(['stdout', 'stderr'] as const).map((name) =>
      vi.spyOn(process[name], 'write').mockImplementation((chunk, ...more) => {
        written[name] += Buffer.from(chunk as string).toString();
        for (const each of more) if (typeof each === 'function') process.nextTick(each);
        return true;
      }),
    ),
    vi.spyOn(process, 'stdin', 'get').mockReturnValue(input as unknown as typeof process.stdin),
    vi.spyOn(process, 'exit').mockImplementation((code) => {
      ended ??= end(code ?? process.exitCode);
      throw new Error('the end of the process');
    }),
  ];
  process.argv = [process.execPath, main, ...args];
  process.exitCode = undefined;
  process.env = { ...env, NO_COLOR: '1' };
  try {
    runs += 1;
    await import(/* @vite-ignore */ `${pathToFileURL(main).href}?run=${runs}`);
    return ended ?? end(process.exitCode);
  } finally {
    for (const mock of mocks) mock.mockRestore();
    for (const each of process.stdout.listeners('error'))
      if (!listeners.includes(each)) process.stdout.off('error', each as () => void);
    Object.assign(process, { argv, exitCode, env });
  }
}
