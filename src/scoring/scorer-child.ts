/** The process that `scorer-process.ts` forks: a whole engine that scores texts one after another until its parent is gone. */
import { type JsonValue, PortcullisError } from '../index.js';
import { openScorerEngine, type ScorerEngine } from './open-scorer-engine.js';
import type { FromScorer, ToScorer } from './scorer-messages.js';
import type { ScorerAnswer, ScorerCall, ScorerSettings } from './scorer-settings.js';

/** Answers are kept back at most this long (milliseconds), so that many short texts share a message. */
const KEEP_BACK_MS = 4;

let scorer: ScorerEngine | undefined;
let work: Promise<void> = Promise.resolve();

const say = (message: FromScorer): void => void process.send?.(message);

async function open(settings: ScorerSettings): Promise<void> {
  try {
    scorer = await openScorerEngine(settings);
    say({ kind: 'ready', info: scorer.engine.info });
  } catch (error) {
    if (!(error instanceof PortcullisError)) throw error;
    say({ kind: 'refused', name: error.name, message: error.message });
  }
}

async function answer({ id, text, isJson, options, withoutModel }: ScorerCall): Promise<ScorerAnswer> {
  if (scorer === undefined) throw new Error('no engine is open');
  const engine = withoutModel ? scorer.withoutModel : scorer.engine;
  try {
    return { id, verdict: await engine.analyze(isJson ? (JSON.parse(text) as JsonValue) : text, options) };
  } catch (error) {
    if (!(error instanceof PortcullisError)) throw error;
    return { id, failed: { name: error.name, code: error.code, message: error.message } };
  }
}

async function score(calls: readonly ScorerCall[]): Promise<void> {
  let answers: ScorerAnswer[] = [];
  let sent = performance.now();
  const flush = (): void => {
    if (answers.length > 0) say({ kind: 'answers', answers, rssBytes: process.memoryUsage.rss() });
    answers = [];
    sent = performance.now();
  };
  for (const call of calls) {
    answers.push(await answer(call));
    // With a model each answer leaves at once: the pool then knows which text a lost scorer was at.
    if ((call.options.mode ?? scorer?.engine.info.mode) !== 'rules' || performance.now() - sent > KEEP_BACK_MS) flush();
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
