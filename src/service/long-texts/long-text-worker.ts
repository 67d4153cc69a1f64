import { constants, setPriority } from 'node:os';
import { serveWorker } from '../../adapters/peer.js';
import { toJsonText } from '../../engine/input.js';
import type { AgentAnalyzer } from '../http/agent-answers.js';
import { doLongTextJob } from './long-text-job.js';
import { type JobRequest, type PlainResult, type Question, toPlainResult } from './messages.js';
import { toPlain } from './plain-input.js';

/** The thread that `long-texts.ts` starts. */

yieldToOthers();
const peer = serveWorker(work);

async function work({ id, job }: JobRequest): Promise<PlainResult> {
  const ask = <T>(question: Question): Promise<T> => peer.ask(question);
  const analyzer: AgentAnalyzer = {
    analyze(given, options) {
      const input = toPlain(typeof given === 'string' ? given : toJsonText(given));
      return ask({ id, kind: 'analyze', input, options });
    },
    read: (runId) => ask({ id, kind: 'read', runId }),
    add: (runId, entries) => ask({ id, kind: 'add', runId, entries }),
    texts: {
      read: (runId, name) => ask({ id, kind: 'readTexts', runId, name }),
      add: (runId, text) => ask({ id, kind: 'addText', runId, text }),
    },
  };
  return toPlainResult(await doLongTextJob(job, analyzer));
}

/** The threads that answer everybody come first. Only on Linux does a thread have a priority of its own. */
function yieldToOthers(): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // A sandbox may forbid it; then the thread has its equal share.
  }
}
