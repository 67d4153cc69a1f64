import { constants, setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { toJsonText } from '../../engine/input.js';
import type { AgentAnalyzer } from '../http/agent-answers.js';
import { HttpError } from '../http/http-error.js';
import { doLongTextJob, type LongTextJob } from './long-text-job.js';
import { type FromLongTextThread, type ToLongTextThread, toPlain, toPlainResult } from './messages.js';

/** The thread that `long-texts.ts` starts. */

type Verdict = Awaited<ReturnType<AgentAnalyzer['analyze']>>;

const port = parentPort;
if (port === null) throw new Error('this program is a thread of the service');

yieldToOthers();
const say = (message: FromLongTextThread): void => port.postMessage(message);
/** Those who wait for a verdict. */
const asking = new Map<number, (verdict: Verdict | undefined) => void>();
let questions = 0;

async function work(id: number, job: LongTextJob): Promise<void> {
  const analyze: AgentAnalyzer['analyze'] = async (given, options) => {
    const input = toPlain(typeof given === 'string' ? given : toJsonText(given));
    const question = questions++;
    const verdict = await new Promise<Verdict | undefined>((resolve) => {
      asking.set(question, resolve);
      say({ kind: 'question', id, question, input, options });
    });
    if (verdict === undefined) throw new Error('the screening failed');
    return verdict;
  };
  try {
    const result = await doLongTextJob(job, analyze);
    say({ kind: 'done', id, result: toPlainResult(result) });
  } catch (error) {
    if (error instanceof HttpError) say({ kind: 'refused', id, message: error.message });
    else say({ kind: 'failed', id, error });
  }
}

port.on('message', (message: ToLongTextThread) => {
  if (message.kind === 'job') {
    void work(message.id, message.job);
    return;
  }
  const answer = asking.get(message.question);
  asking.delete(message.question);
  answer?.(message.verdict);
});

/** The threads that answer everybody come first. Only on Linux does a thread have a priority of its own. */
function yieldToOthers(): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // A sandbox may forbid it; then the thread has its equal share.
  }
}
