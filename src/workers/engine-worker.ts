import { serveEngine } from './serve-engine.js';

/** The program of a worker, a process or a thread with an engine of its own; `open-worker.ts` starts it. */
serveEngine();
