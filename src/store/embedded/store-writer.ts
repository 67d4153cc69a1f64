/** The thread that `writer-thread.ts` starts. */
import { parentPort, workerData } from 'node:worker_threads';
import { serveWriter } from './serve-writer.js';
import type { WriterSettings } from './writer-messages.js';

if (parentPort === null) throw new Error('this program is a thread of the store');
await serveWriter(parentPort, workerData as WriterSettings);
