import { AggregatorRegistry } from 'prom-client';
import type { FromProcess, ProcessFailure, ToProcess } from './processes.js';
import type { RunningService } from './run-service.js';
import { serve } from './serve.js';
import type { ServiceSettings } from './settings.js';

/** The program of one process of a service that has several; `processes.ts` starts it. */

const say = (message: FromProcess): void => void process.send?.(message);

let service: RunningService | undefined;
const pages = new Map<number, { readonly resolve: (page: string) => void; readonly reject: (error: Error) => void }>();
let nextId = 1;

const metricsPage = (): Promise<string> =>
  new Promise((resolve, reject) => {
    const id = nextId++;
    pages.set(id, { resolve, reject });
    say({ kind: 'metrics', id });
  });

async function start(settings: ServiceSettings, isFirst: boolean): Promise<void> {
  try {
    service = await serve(settings, { processes: settings.processes, isFirst, metricsPage });
    say({ kind: 'ready', url: service.url, firstAccount: service.firstAccount });
  } catch (error) {
    say({ kind: 'refused', error: toFailure(error) });
    process.disconnect();
  }
}

async function close(): Promise<void> {
  try {
    await service?.close();
    process.exit(0);
  } catch {
    process.exit(1);
  }
}

function toFailure(error: unknown): ProcessFailure {
  if (!(error instanceof Error))
    return { name: 'Error', message: 'unknown error', code: undefined, syscall: undefined };
  const text = (name: string): string | undefined => {
    const value = (error as unknown as Readonly<Record<string, unknown>>)[name];
    return typeof value === 'string' ? value : undefined;
  };
  return { name: error.name, message: error.message, code: text('code'), syscall: text('syscall') };
}

// It answers the first process, which asks for the metrics of all.
new AggregatorRegistry();
process.on('message', (message: ToProcess) => {
  switch (message.kind) {
    case 'serve':
      void start(message.settings, message.isFirst);
      break;
    case 'shown':
      void service?.firstAccountShown();
      break;
    case 'metrics': {
      const waiting = pages.get(message.id);
      pages.delete(message.id);
      if (message.page === null) waiting?.reject(new Error('the metrics of another process are missing'));
      else waiting?.resolve(message.page);
      break;
    }
    case 'close':
      void close();
      break;
  }
});
// The first process says when to end; without it, this process would not be restarted.
process.on('disconnect', () => void close());
process.on('SIGTERM', () => {});
process.on('SIGINT', () => {});
say({ kind: 'started' });
