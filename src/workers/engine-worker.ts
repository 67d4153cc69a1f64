import { serveEngine } from './serve-engine.js';

/** The program of a process with an engine of its own; `worker-process.ts` forks it. */
serveEngine();
