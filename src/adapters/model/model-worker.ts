import { ModelError } from '../../engine/errors.js';
import type { WindowScore } from '../../engine/ports.js';
import { serveWorker } from '../peer.js';
import type { Network } from './network.js';
import { openNetwork, type ToChild } from './onnx-network.js';

/** The program of a model worker, a process or a thread: loads one network and scores windows until its parent is gone. */
let network: Network | undefined;

async function answer(request: ToChild): Promise<WindowScore | undefined> {
  if (request.kind === 'run') {
    if (network === undefined) throw new ModelError('MODEL_LOAD', 'no network is loaded');
    return network.run(request.window);
  }
  network = await openNetwork(request.spec);
  return undefined;
}

serveWorker(answer, { isExpected: (error) => error instanceof ModelError });
