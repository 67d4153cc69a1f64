import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';

/** The built service in a process of its own. */
export interface ServiceProcess {
  readonly child: ChildProcess;
  readonly url: string;
  /** Milliseconds from the start to the line that says ready. */
  readonly readyMs: number;
  /** All that it printed. */
  readonly output: () => string;
  /** The exit code, null where a signal ended it. */
  readonly ended: Promise<number | null>;
}

const running = new Set<ChildProcess>();

/** Starts the service with `serve`'s flags; resolves when it says that it is ready. @throws Error with its output */
export function startService(flags: readonly string[]): Promise<ServiceProcess> {
  const started = performance.now();
  return new Promise((resolve, reject) => {
    // Another build, e.g. 1.0: a regression test of a fix must fail there (bench/record/hostile-service.md).
    const args = [join(process.env.PORTCULLIS_TEST_DIST ?? 'dist', 'cli', 'main.js'), 'serve', '--port', '0', ...flags];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    running.add(child);
    let output = '';
    const ended = new Promise<number | null>((end) => child.on('exit', (code) => end(code)));
    child.on('exit', () => {
      running.delete(child);
      reject(new Error(`the service ended: ${output}`));
    });
    const take = (chunk: Buffer): void => {
      output += chunk.toString();
      const url = /^ready (http:\S+)$/m.exec(output)?.[1];
      if (url !== undefined) resolve({ child, url, readyMs: performance.now() - started, output: () => output, ended });
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
  });
}

/** Ends whatever this file's tests left behind. */
export function killServices(): void {
  for (const child of running) child.kill('SIGKILL');
}

/** The key that a first start shows. */
export function shownKey(service: ServiceProcess): string {
  const key = /svc_live_\S+/.exec(service.output())?.[0];
  if (key === undefined) throw new Error('no key was shown');
  return key;
}

/** One screening call. */
export function analyze(url: string, key: string, input: unknown): Promise<Response> {
  return fetch(`${url}/analyze`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ input }),
  });
}
