import { describe, expect, it } from 'vitest';
import { createClient } from '../../src/client.js';
import { createEngine as createEngineOf, type EngineParts } from '../../src/engine/engine.js';
import { guardTransport, openPins } from '../../src/integrations/mcp/index.js';
import { createGuard } from '../../src/policy/index.js';
import { manualClock } from './manual-clock.js';
import { stubPack } from './stub-pack.js';

// An option that is misspelt is a mistake, not silence: whoever wrote it believes that it is in force.

const createEngine = (more: Partial<EngineParts> = {}) =>
  createEngineOf({ pack: stubPack, clock: manualClock(), newEvidenceId: () => 'ev_0', ...more });
const engine = createEngine();
const client = createClient({ baseUrl: 'http://127.0.0.1:9', apiKey: 'k' });
const guard = createGuard({ engine });

/** Takes options as they come from JavaScript. */
const given = (options: object): never => options as never;

describe('an option that does not exist is refused by', () => {
  it.each<[string, string | RegExp, () => unknown]>([
    [
      'createEngine',
      'createEngine has no option tresholds (did you mean thresholds?)',
      () => createEngine(given({ tresholds: {} })),
    ],
    [
      'thresholds',
      'thresholds has no option modell (did you mean model?)',
      () => createEngine({ thresholds: given({ modell: 0.9 }) }),
    ],
    [
      'limits',
      'limits has no option modelView (did you mean modelViews?)',
      () => createEngine({ limits: given({ modelView: 1 }) }),
    ],
    [
      'createClient',
      'createClient has no option apikey (did you mean apiKey?)',
      () => createClient(given({ baseUrl: 'http://x', apikey: 'k' })),
    ],
    [
      'a scan',
      'scan has no option chanel (did you mean channel?)',
      () => engine.scan('Hi.', given({ chanel: 'user' })),
    ],
    [
      'a scan, which has no model and no deadline',
      'scan has no option task or timeoutMs: there are channel, explain, evidenceId, paranoia',
      () => engine.scan('Hi.', given({ task: 'x', timeoutMs: 5 })),
    ],
    [
      'createEngine, all of them with all that is invalid',
      /no option tresholds \(.*\) or mood \(did you mean mode\?\): .*; thresholds has no option modell .*; limits has no option modelView .*; `timeoutMs` must/,
      () =>
        createEngine(
          given({ tresholds: {}, mood: 'x', thresholds: { modell: 1 }, limits: { modelView: 1 }, timeoutMs: 0 }),
        ),
    ],
    ['an engine whose model was not awaited', 'await it', () => createEngine(given({ model: Promise.resolve() }))],
    ['a run', 'run has no option taks (did you mean task?)', () => guard.run(given({ taks: 'x' }))],
    [
      'guardTransport',
      'guardTransport has no option pin (did you mean pins?)',
      () => guardTransport(given({}), guard, given({ pin: 1 })),
    ],
    [
      'openPins',
      'openPins has no option approval: there are path, server, requireApproval',
      () => openPins(given({ path: 'x', server: 'y', approval: true })),
    ],
  ])('%s', (_, mistake, call) => {
    expect(call).toThrow(mistake);
    expect(call).toThrow(TypeError);
  });

  it.each<[string, string, () => Promise<unknown>]>([
    [
      "an engine's analyze",
      'analyze has no option timeout (did you mean timeoutMs?): there are channel',
      () => engine.analyze('Hi.', given({ timeout: 5 })),
    ],
    [
      "a client's analyze",
      'analyze has no option runid (did you mean runId?)',
      () => client.analyze('Hi.', given({ runid: 'r' })),
    ],
    [
      "a guard's screen",
      'screen has no option tol (did you mean tool?)',
      () => guard.screen('document', 'Hi.', given({ tol: 'x' })),
    ],
    [
      'a warm-up',
      'warmUp has no option pattern (did you mean patterns?)',
      () => engine.warmUp(given({ pattern: 'all' })),
    ],
  ])('%s', async (_, mistake, call) => {
    await expect(call()).rejects.toThrow(mistake);
  });

  it('analyzeMany, but for its own', async () => {
    const texts = ['One.', 'Two.'];
    const verdicts: unknown[] = [];
    for await (const verdict of engine.analyzeMany(texts, { concurrency: 2, channel: 'user' })) verdicts.push(verdict);
    expect(verdicts).toHaveLength(2);
    await expect(engine.analyzeMany(texts, given({ concurency: 2 })).next()).rejects.toThrow(
      'analyzeMany has no option concurency (did you mean concurrency?)',
    );
  });
});

it('an option that is undefined is left out', async () => {
  expect((await engine.analyze('Hi.', given({ channel: undefined, chanel: undefined }))).verdict).toBe('allow');
});
