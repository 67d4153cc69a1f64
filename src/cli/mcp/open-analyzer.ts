import type { Engine } from '../../engine/engine.js';
import type { PinEvent } from '../../integrations/mcp/pin-event.js';
import type { Analyzer } from '../../policy/index.js';
import { type EngineFlags, openEngine } from '../engine-flags.js';
import { CliError } from '../terminal.js';

export interface AnalyzerFlags extends Omit<EngineFlags, 'json'> {
  readonly service?: URL;
  readonly key?: string;
  readonly timeout: number;
}

/** An analyzer and the function that closes it. */
export interface OpenAnalyzer {
  readonly analyzer: Analyzer;
  /** Rejects where the engine can't be opened. */
  readonly ready: Promise<unknown>;
  /** Tells the service of a tool that isn't trusted, so that its dashboard shows it. */
  readonly tellPin?: (event: PinEvent) => void;
  readonly close: () => Promise<void>;
}

/** Pin events that one process reports to the service at most. */
const MAX_PIN_EVENTS = 1_000;

export async function openAnalyzer(flags: AnalyzerFlags): Promise<OpenAnalyzer> {
  const { service } = flags;
  if (service !== undefined) {
    for (const name of ['mode', 'pack', 'overlay', 'model', 'operatingPoint'] as const)
      if (flags[name] !== undefined)
        throw new CliError(
          'the service uses its own rules and model: with --service, leave out --mode, --pack, --overlay, --model and --operating-point.',
        );
    const apiKey = flags.key;
    if (!apiKey)
      throw new CliError('--service needs a key: set PORTCULLIS_API_KEY ("portcullis admin key create" creates one).');
    const { createClient } = await import('../../client.js');
    const client = createClient({ baseUrl: service.href, apiKey });
    const told = new Set<string>();
    /** Says once why nothing passes: the client's own error quotes no input. */
    const tell = (error: unknown): never => {
      const reason = error instanceof Error ? error.message : 'it failed';
      if (!told.has(reason)) process.stderr.write(`portcullis: screening at ${service.origin} fails: ${reason}\n`);
      told.add(reason);
      throw error;
    };
    const analyzer: Analyzer = { analyze: (input, options) => client.analyze(input, options).catch(tell) };
    const { tellPin, close } = pinReporter(service, apiKey, flags.timeout);
    return { analyzer, ready: Promise.resolve(), tellPin, close };
  }
  // Opened while the server starts.
  const engine: Promise<Engine> = openEngine(flags).then(async (opened) => {
    await opened.warmUp();
    return opened;
  });
  engine.catch(() => {});
  return {
    analyzer: { analyze: async (input, options) => (await engine).analyze(input, options) },
    ready: engine,
    close: async () => {
      await (await engine.catch(() => undefined))?.close();
    },
  };
}

/** Sends each pin event to the service's audit log once. Where that fails, standard error says why, once. */
function pinReporter(
  service: URL,
  apiKey: string,
  timeoutMs: number,
): Required<Pick<OpenAnalyzer, 'tellPin' | 'close'>> {
  const url = `${service.href.replace(/\/+$/, '')}/hooks/mcp`;
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  const sent = new Map<string, Promise<void>>();
  let fails = false;
  async function send(body: string): Promise<void> {
    try {
      const response = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(timeoutMs) });
      if (!response.ok) throw new Error(`HTTP ${response.status}`);
    } catch (error) {
      const reason = error instanceof Error ? error.message : 'it failed';
      if (!fails) process.stderr.write(`portcullis: could not report a changed tool to ${service.origin}: ${reason}\n`);
      fails = true;
    }
  }
  return {
    tellPin(event) {
      const key = [event.tool, event.change, event.action].join(' ');
      if (sent.size < MAX_PIN_EVENTS && !sent.has(key)) sent.set(key, send(JSON.stringify(event)));
    },
    close: async () => void (await Promise.all(sent.values())),
  };
}
