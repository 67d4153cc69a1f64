/** The process that `scorer-process.ts` forks. */
import { serveScorer } from './serve-scorer.js';

serveScorer();
