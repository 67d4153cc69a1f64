import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const main = join('dist', 'cli', 'main.js');

export interface CliRun {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the built command line; standard input is what is given, else empty. It is ended after `timeoutMs`. */
export function runCli(args: readonly string[], stdin: string | Buffer = '', timeoutMs = 240_000): CliRun {
  if (!existsSync(main)) throw new Error('Run "npm run build" first: these tests start the built command line.');
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], {
    input: stdin,
    encoding: 'utf8',
    timeout: timeoutMs,
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, NO_COLOR: '1' },
  });
  return { status, stdout, stderr };
}
