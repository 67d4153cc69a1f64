import { parentPort } from 'node:worker_threads';
import { ModelError } from '../../engine/errors.js';
import type { Network } from './network.js';
import { type FromChild, openNetwork, type ToChild } from './onnx-network.js';

/** The program of a model worker, a process or a thread: loads one network and scores windows until its parent is gone. */
let network: Network | undefined;

async function answer(message: ToChild): Promise<FromChild> {
  try {
    if (message.kind === 'load') {
      network = await openNetwork(message.spec);
      return { kind: 'ready' };
    }
    if (network === undefined) throw new ModelError('MODEL_LOAD', 'no network is loaded');
    return { kind: 'score', score: await network.run(message.window), rssBytes: process.memoryUsage.rss() };
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    return { kind: 'failed', code: error.code, message: error.message };
  }
}

const send = (reply: FromChild): void => void (parentPort ? parentPort.postMessage(reply) : process.send?.(reply));

(parentPort ?? process).on('message', (message: ToChild) => {
  void answer(message).then(send);
});
if (parentPort === null) {
  process.on('disconnect', () => process.exit(0));
  // An operator's Ctrl-C is for the parent; the child ends when the parent does.
  process.on('SIGINT', () => {});
}
