import { AggregatorRegistry } from 'prom-client';
import { asError, type Packet, Peer } from '../adapters/peer.js';
import type { FirstRequest, ProcessRequest, StartedProcess } from './processes.js';
import type { RunningService } from './run-service.js';
import { serve } from './serve.js';

/** The program of one process of a service that has several; `processes.ts` starts it. */

let service: RunningService | undefined;
const peer = new Peer({
  send: (messages) => void process.send?.({ messages, memoryBytes: 0 } satisfies Packet),
  answer,
  toError: asError,
});

async function answer(request: ProcessRequest): Promise<StartedProcess | undefined> {
  if (request.kind === 'serve') {
    const { settings, isFirst } = request;
    const metricsPage = (): Promise<string> => peer.ask({ kind: 'metrics' } satisfies FirstRequest);
    service = await serve(settings, { processes: settings.processes, isFirst, metricsPage });
    return { url: service.url, firstAccount: service.firstAccount };
  }
  if (request.kind === 'shown') await service?.firstAccountShown();
  else await end();
  return undefined;
}

async function end(): Promise<void> {
  try {
    await service?.close();
    process.exit(0);
  } catch {
    process.exit(1);
  }
}

// It answers the first process, which asks for the metrics of all.
new AggregatorRegistry();
process.on('message', (packet: Packet) => {
  if (Array.isArray(packet.messages)) peer.take(packet);
});
// The first process says when to end; without it, this process would not be restarted.
process.on('disconnect', () => void end());
process.on('SIGTERM', () => {});
process.on('SIGINT', () => {});
void peer.ask({ kind: 'started' } satisfies FirstRequest);
