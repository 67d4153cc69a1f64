/** The engine, away from the page's thread: a long text or the model doesn't stop the page. */
import { createEngine, loadModel, loadPack } from 'portcullis/web';
import type { FromWorker, ToWorker } from './messages.js';

// The build puts this file into `assets/`, beside which the pack and the model lie.
const base = new URL('../', self.location.href);
const say = (message: FromWorker): void => self.postMessage(message);
const failed = (error: unknown): void =>
  say({ kind: 'failed', message: error instanceof Error ? error.message : 'unknown error' });

const started = performance.now();
const pack = loadPack(new URL('core-pack.gz', base));
let engine = pack.then((loaded) => createEngine({ pack: loaded }));
await announce(started);

async function announce(since: number): Promise<void> {
  try {
    const { rules } = await pack;
    const { info } = await engine;
    const titles = Object.fromEntries(rules.map(({ id, title }) => [id, title]));
    say({ kind: 'ready', info, titles, ms: performance.now() - since });
  } catch (error) {
    failed(error);
  }
}

async function withModel(): Promise<Awaited<typeof engine>> {
  const model = await loadModel(new URL('model', base));
  await model.warmUp();
  return createEngine({ pack: await pack, model });
}

async function screen(id: number, text: string): Promise<void> {
  const from = performance.now();
  const verdict = await (await engine).analyze(text, { explain: true });
  say({ kind: 'verdict', id, verdict, ms: performance.now() - from });
}

self.onmessage = ({ data }: MessageEvent<ToWorker>): void => {
  if (data.kind === 'screen') {
    screen(data.id, data.text).catch(failed);
    return;
  }
  const before = engine;
  engine = withModel().catch((error: unknown) => {
    failed(error);
    return before;
  });
  void announce(performance.now());
};
