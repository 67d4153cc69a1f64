import { Worker } from 'node:worker_threads';
import type { Child, ChildOptions } from './supervisor.js';

/**
 * A thread with the face of a child process. To stop a thread while native code runs in it would end this process: a thread that
 * is killed is heard no more, ends what it does, and stops with its next message.
 */
export function startThread<In, Out>({ file, heapMb, onMessage, onEnd }: ChildOptions<Out>): Child<In> {
  const worker = new Worker(file, { env: {}, resourceLimits: { maxOldGenerationSizeMb: heapMb } });
  let isAlive = true;
  let isRunning = false;
  const stop = (): void => {
    if (!isAlive && !isRunning) void worker.terminate();
  };
  const end = (): void => {
    if (!isAlive) return;
    isAlive = false;
    onEnd(false);
  };
  worker.on('exit', end);
  worker.on('error', end);
  worker.on('message', (message: Out) => {
    isRunning = false;
    if (isAlive) onMessage(message);
    else stop();
  });
  worker.unref();
  return {
    pid: undefined,
    isAlive: () => isAlive,
    send(message) {
      isRunning = true;
      worker.postMessage(message);
    },
    kill() {
      isAlive = false;
      stop();
    },
    hold: (isBusy) => (isBusy ? worker.ref() : worker.unref()),
  };
}
