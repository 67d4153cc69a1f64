// The thread for long texts, but a body with the word "die" in it ends it.
import { parentPort } from 'node:worker_threads';

await import('../../dist/long-text-worker.js');
parentPort.on('message', ({ messages }) => {
  for (const { body } of messages) if (body?.job && Buffer.from(body.job.body).includes('die')) process.exit(1);
});
