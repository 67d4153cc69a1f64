import { type Engine, type JsonValue, PortcullisError } from '../index.js';
import { openScorerEngine, type ScorerEngine } from './open-scorer-engine.js';
import type { FromScorer, ToScorer } from './scorer-messages.js';
import type { ScorerAnswer, ScorerCall, ScorerSettings } from './scorer-settings.js';

/** Answers are kept back at most this long (milliseconds), so that many short texts share a message. */
const KEEP_BACK_MS = 4;

/** Does a task of a kind that the program knows. */
export type TaskRunner = (task: unknown, engine: Engine) => Promise<unknown>;

const say = (message: FromScorer): void => void process.send?.(message);

/** Makes this process a scorer: an engine that answers calls one after another until its parent is gone. */
export function serveScorer(runTask?: TaskRunner): void {
  let scorer: ScorerEngine | undefined;
  let work: Promise<void> = Promise.resolve();

  async function open(settings: ScorerSettings): Promise<void> {
    try {
      scorer = await openScorerEngine(settings);
      say({ kind: 'ready', info: scorer.engine.info });
    } catch (error) {
      if (!(error instanceof PortcullisError)) throw error;
      say({ kind: 'refused', name: error.name, message: error.message });
    }
  }

  async function answer(call: ScorerCall): Promise<ScorerAnswer> {
    if (scorer === undefined) throw new Error('no engine is open');
    const { id } = call;
    try {
      if ('task' in call) {
        if (runTask === undefined) throw new Error('this scorer knows no tasks');
        return { id, done: await runTask(call.task, scorer.engine) };
      }
      const engine = call.withoutModel ? scorer.withoutModel : scorer.engine;
      const input = call.isJson ? (JSON.parse(call.text) as JsonValue) : call.text;
      return { id, verdict: await engine.analyze(input, call.options) };
    } catch (error) {
      if (!(error instanceof PortcullisError)) throw error;
      return { id, failed: { name: error.name, code: error.code, message: error.message } };
    }
  }

  /** An answer to it leaves at once, with those before it: the pool then knows what a lost scorer was at. */
  const leavesAtOnce = (call: ScorerCall): boolean =>
    'task' in call || (call.options.mode ?? scorer?.engine.info.mode) !== 'rules';

  async function score(calls: readonly ScorerCall[]): Promise<void> {
    let answers: ScorerAnswer[] = [];
    let sent = performance.now();
    const flush = (): void => {
      if (answers.length > 0) say({ kind: 'answers', answers, rssBytes: process.memoryUsage.rss() });
      answers = [];
      sent = performance.now();
    };
    for (const call of calls) {
      if (leavesAtOnce(call)) flush();
      answers.push(await answer(call));
      if (leavesAtOnce(call) || performance.now() - sent > KEEP_BACK_MS) flush();
    }
    flush();
  }

  process.on('message', (message: ToScorer) => {
    work = work.then(() => (message.kind === 'open' ? open(message.settings) : score(message.calls)));
  });
  process.on('disconnect', () => process.exit(0));
  // An operator's Ctrl-C is for the parent; a scorer ends when the parent does.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => {});
}
