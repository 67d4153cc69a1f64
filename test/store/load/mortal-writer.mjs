// The thread that writes, but it ends without a word at its 30th message.
import { parentPort } from 'node:worker_threads';

await import('../../../dist/store-writer.js');
let messages = 0;
parentPort.on('message', () => {
  messages += 1;
  if (messages === 30) process.exit(1);
});
