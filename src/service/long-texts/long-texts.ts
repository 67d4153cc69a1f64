import type { Child } from '../../adapters/supervisor.js';
import { startThread } from '../../adapters/thread.js';
import { createFairQueue } from '../../workers/fair-queue.js';
import type { AgentAnalyzer } from '../http/agent-answers.js';
import { HttpError } from '../http/http-error.js';
import { type CallBody, doLongTextJob, type LongTextJob } from './long-text-job.js';
import { type FromLongTextThread, fromPlain, fromPlainResult, type ToLongTextThread } from './messages.js';

/** Whose job it is. */
export interface LongTextCaller {
  /** Accounts are served in turn. */
  readonly tenant: string;
  /** Screens what the job asks for; only an agent's job does. */
  readonly analyze?: AgentAnalyzer['analyze'] | undefined;
  /** A job that still waits then is dropped. */
  readonly signal?: AbortSignal | undefined;
}

/** Work on long texts, away from the thread that answers everybody. */
export interface LongTexts {
  /** Does a job as `doLongTextJob` does. @throws also HttpError 503 where the caller left, Error where the thread ended */
  run(job: LongTextJob, caller: LongTextCaller): Promise<string | CallBody>;
  close(): void;
}

interface Waiting extends LongTextCaller {
  readonly id: number;
  readonly job: LongTextJob;
  resolve(result: string | CallBody): void;
  reject(error: unknown): void;
}

const isAgents = ({ job }: Pick<Waiting, 'job'>): boolean => job.kind === 'agent';

/** Agents' jobs in the thread: they wait most of the time for their verdicts. */
const AGENTS_AT_ONCE = 4;
/** Other jobs in the thread. A place of their own, since the evidence of an agent's verdict may have to be masked first. */
const OTHERS_AT_ONCE = 2;

/** Heap of the thread for each megabyte that a body may have, and beside it, MB. A body becomes a text, values, JSON again. */
const HEAP_PER_MB = 16;
const HEAP_MB = 128;

/**
 * A thread that runs a program (`long-text-worker`). It starts with the first job, and again with the first one after its end. Without
 * a program the jobs are done at once in this thread. `bodyBytes`: what a body may have, default 1 MiB.
 */
export function createLongTexts(program?: string, bodyBytes: number = 1024 * 1024): LongTexts {
  if (program === undefined)
    return {
      run: (job, { analyze = noQuestions }) => doLongTextJob(job, analyze),
      close: () => undefined,
    };
  const waiting = createFairQueue<Waiting>({
    tenantOf: ({ tenant }) => tenant,
    costOf: ({ job }) => (job.kind === 'mask' ? job.text : job.body).length,
    isLong: isAgents,
  });
  const underWay = new Map<number, Waiting>();
  let thread: Child<ToLongTextThread> | undefined;
  let ids = 0;

  const start = (): Child<ToLongTextThread> =>
    startThread<ToLongTextThread, FromLongTextThread>({
      file: program,
      heapMb: HEAP_MB + HEAP_PER_MB * Math.ceil(bodyBytes / (1024 * 1024)),
      onMessage: take,
      onEnd() {
        thread = undefined;
        const lost = [...underWay.values()];
        underWay.clear();
        for (const { reject } of lost) reject(new Error('the thread for long texts ended'));
        next();
      },
    });

  function next(): void {
    for (;;) {
      const agents = [...underWay.values()].filter(isAgents).length;
      const others = underWay.size - agents;
      const one = waiting.shift((it) => (isAgents(it) ? agents < AGENTS_AT_ONCE : others < OTHERS_AT_ONCE));
      if (one === undefined) return;
      underWay.set(one.id, one);
      thread ??= start();
      thread.send({ kind: 'job', id: one.id, job: one.job });
    }
  }

  function take(message: FromLongTextThread): void {
    const one = underWay.get(message.id);
    if (one === undefined) return;
    if (message.kind === 'question') {
      void answer(one, message);
      return;
    }
    underWay.delete(message.id);
    if (message.kind === 'done') one.resolve(fromPlainResult(message.result));
    else one.reject(message.kind === 'refused' ? new HttpError(400, message.message) : message.error);
    next();
  }

  async function answer(
    { analyze = noQuestions }: Waiting,
    { question, input, options }: FromLongTextThread & { readonly kind: 'question' },
  ): Promise<void> {
    const asked = thread;
    // Whoever screens knows why it failed.
    const verdict = await analyze(fromPlain(input), options).catch(() => undefined);
    asked?.send({ kind: 'answer', question, ...(verdict === undefined ? {} : { verdict }) });
  }

  async function run(job: LongTextJob, caller: LongTextCaller): Promise<string | CallBody> {
    const id = ids++;
    const leave = (): void => {
      if (underWay.has(id)) return;
      waiting.remove((it) => it.id === id);
      drop(new HttpError(503, 'The caller left before its turn.'));
    };
    let drop: (error: Error) => void = () => undefined;
    caller.signal?.addEventListener('abort', leave, { once: true });
    try {
      return await new Promise((resolve, reject) => {
        drop = reject;
        waiting.push({ ...caller, id, job, resolve, reject });
        next();
      });
    } finally {
      caller.signal?.removeEventListener('abort', leave);
    }
  }

  return {
    run,
    close: () => thread?.kill(),
  };
}

const noQuestions: AgentAnalyzer['analyze'] = () => Promise.reject(new Error('this job screens nothing'));
