import { asError, type Failure } from '../../adapters/peer.js';
import { startWorker, type Worker } from '../../adapters/worker.js';
import type { AgentAnalyzer } from '../http/agent-answers.js';
import { HttpError } from '../http/http-error.js';
import { createFairLimit } from '../screening/fair-limit.js';
import { stepCost } from '../screening/follow-run.js';
import { doLongTextJob, type LongTextJob, type LongTextResult } from './long-text-job.js';
import { fromPlainResult, type JobRequest, type PlainResult, type Question } from './messages.js';
import { fromPlain } from './plain-input.js';

export interface LongTextCaller {
  /** Accounts are served in turn. */
  readonly tenant: string;
  /** Answers what the job asks; only an agent's job does. */
  readonly analyzer?: AgentAnalyzer | undefined;
  /** A job that still waits then is dropped. */
  readonly signal?: AbortSignal | undefined;
}

/** Work on long texts, away from the thread that answers everybody. */
export interface LongTexts {
  /** Does a job as `doLongTextJob` does. @throws also HttpError 503 where the caller left, Error where the thread ended */
  run(job: LongTextJob, caller: LongTextCaller): Promise<LongTextResult>;
  close(): void;
}

/** Agents' jobs in the thread: they wait most of the time for their verdicts. */
const AGENTS_AT_ONCE = 4;
/** Other jobs in the thread. A place of their own, since the evidence of an agent's verdict may have to be masked first. */
const OTHERS_AT_ONCE = 2;

/** Heap of the thread for each megabyte that a body may have, and beside it, MB. A body becomes a text, values, JSON again. */
const HEAP_PER_MB = 32;
const HEAP_MB = 128;

/**
 * A thread that runs a program (`long-text-worker`). It starts with the first job, and again with the first one after its end. Without
 * a program the jobs are done at once in this thread. `bodyBytes`: what a body may have, default 1 MiB.
 */
export function createLongTexts(program?: string, bodyBytes: number = 1024 * 1024): LongTexts {
  if (program === undefined)
    return {
      run: (job, { analyzer = noQuestions }) => doLongTextJob(job, analyzer),
      close: () => undefined,
    };
  const agentLimit = createFairLimit({ atOnce: AGENTS_AT_ONCE, rest: 'never' });
  const otherLimit = createFairLimit({ atOnce: OTHERS_AT_ONCE, rest: 'never' });
  const underWay = new Map<number, AgentAnalyzer | undefined>();
  let thread: Worker | undefined;
  let ids = 0;

  const start = (): Worker =>
    startWorker({
      file: program,
      isThread: true,
      heapMb: HEAP_MB + HEAP_PER_MB * Math.ceil(bodyBytes / (1024 * 1024)),
      answer,
      toError,
      onEnd() {
        thread = undefined;
      },
    });

  async function answer(question: Question): Promise<unknown> {
    const analyzer = underWay.get(question.id) ?? noQuestions;
    try {
      const { kind } = question;
      if (kind === 'analyze') return await analyzer.analyze(fromPlain(question.input), question.options);
      if (kind === 'read') return await analyzer.read(question.runId);
      if (kind === 'add') return await analyzer.add(question.runId, question.entries);
      if (kind === 'readTexts') return await analyzer.texts.read(question.runId, question.name);
      return await analyzer.texts.add(question.runId, question.text);
    } catch {
      // Whoever answers knows why.
      throw new Error('the screening failed');
    }
  }

  async function work(job: LongTextJob, { analyzer }: LongTextCaller): Promise<LongTextResult> {
    const id = ids++;
    underWay.set(id, analyzer);
    thread ??= start();
    try {
      return fromPlainResult(await thread.ask<PlainResult>({ id, job } satisfies JobRequest));
    } finally {
      underWay.delete(id);
    }
  }

  return {
    async run(job, caller) {
      const limit = job.kind === 'agent' ? agentLimit : otherLimit;
      return limit(caller.tenant, () => work(job, caller), { cost: costOf(job), signal: caller.signal });
    },
    close: () => thread?.kill(),
  };
}

function costOf(job: LongTextJob): number {
  if (job.kind === 'flow') return stepCost(job.step);
  if (job.kind === 'ends') return job.input.text.length;
  return (job.kind === 'mask' ? job.text : job.body).length;
}

const refuse = (): Promise<never> => Promise.reject(new Error('this job screens nothing'));
const noQuestions: AgentAnalyzer = {
  ...{ analyze: refuse, read: refuse, add: refuse },
  texts: { read: refuse, add: refuse },
};

function toError(failure: Failure): Error {
  if (failure.code === 'WORKER_ENDED') return new Error('the thread for long texts ended');
  return failure.code === 'HTTP_REFUSED' ? new HttpError(400, failure.message) : asError(failure);
}
