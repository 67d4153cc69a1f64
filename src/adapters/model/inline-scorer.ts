import { ModelError } from '../../engine/errors.js';
import type { WindowScorer } from '../../engine/ports.js';
import { systemClock } from '../system-clock.js';
import type { Network } from './network.js';
import { type NetworkSpec, openNetwork } from './onnx-network.js';
import { createSemaphore } from './semaphore.js';

/**
 * Scores windows in this process: no fork, but each run blocks the event loop (8 to 40 ms a window), and a
 * crash of the runtime is a crash of the program. For short-lived programs and trusted models.
 */
export function createInlineScorer(spec: NetworkSpec): WindowScorer {
  let network: Promise<Network> | undefined;
  let closed = false;
  const semaphore = createSemaphore([undefined], systemClock);

  function load(): Promise<Network> {
    if (closed) return Promise.reject(new ModelError('MODEL_CLOSED', 'the model was closed'));
    network ??= openNetwork(spec).catch((error: unknown) => {
      // The next call tries again; the circuit breaker keeps the tries apart.
      network = undefined;
      throw error;
    });
    return network;
  }

  return {
    score: (ids, { timeoutMs }) => semaphore(async () => (await load()).run(ids), timeoutMs),
    async warmUp() {
      await load();
    },
    async close() {
      if (closed) return;
      closed = true;
      await (await network)?.close();
    },
  };
}
