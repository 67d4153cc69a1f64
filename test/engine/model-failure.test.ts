import { describe, expect, it } from 'vitest';
import { createEngine } from '../../src/engine/engine.js';
import { ModelError } from '../../src/engine/errors.js';
import { unavailableModel } from '../../src/engine/model/circuit-breaker.js';
import type { Classifier, ClassifierAnswer } from '../../src/engine/ports.js';
import { type ManualClock, manualClock } from './manual-clock.js';
import { stubModel, sure } from './stub-model.js';
import { stubPack } from './stub-pack.js';

const engineOf = (model: Classifier, clock: ManualClock = manualClock(), timeoutMs = 1_000) =>
  createEngine({ pack: stubPack, model, clock, timeoutMs, newEvidenceId: () => 'ev_0123456789abcdef01234567' });

const PLAIN = 'Nothing to see';

const broken = (answer: Partial<ClassifierAnswer>) => async () =>
  ({ windows: [], hotspots: [], unseen: [], ...answer }) as unknown as ClassifierAnswer;

describe('a model that fails', () => {
  it.each([
    ['a typed error', () => Promise.reject(new ModelError('MODEL_CRASHED', 'gone')), 'MODEL_CRASHED'],
    ['any other error', () => Promise.reject(new TypeError('bug')), 'MODEL_FAILED'],
    ['something that is no error', () => Promise.reject('odd'), 'MODEL_FAILED'],
    [
      'an error thrown at once',
      () => {
        throw new RangeError('bug');
      },
      'MODEL_FAILED',
    ],
    ['no number', broken({ probability: Number.NaN }), 'MODEL_OUTPUT'],
    ['a number above 1', broken({ probability: 1.5 }), 'MODEL_OUTPUT'],
    ['nothing', broken({}), 'MODEL_OUTPUT'],
  ])('with %s leaves the verdict to the rules, and says so', async (_, answer, code) => {
    const engine = engineOf(stubModel(answer));
    const allowed = await engine.analyze(PLAIN, { explain: true });
    expect(allowed).toMatchObject({
      verdict: 'allow',
      decided_by: 'ml-error-rules-fallback',
      score: 0,
      threshold: 0.5,
    });
    expect(allowed.explanation).toMatchObject({
      router_level: 'rules',
      model: { score: null, verdict: 'error', error: code, windows: [], hotspots: [] },
    });
    expect(await engine.analyze('Armageddon')).toMatchObject({ verdict: 'block', decided_by: 'rules' });
  });

  it('is not what a healthy model looks like', async () => {
    expect(await engineOf(stubModel(sure(0.1))).analyze(PLAIN)).toMatchObject({ decided_by: 'ml', score: 0.1 });
  });

  it('is said in shadow too, where the rules decide anyway', async () => {
    const engine = engineOf(stubModel(() => Promise.reject(new Error('x'))));
    const verdict = await engine.analyze(PLAIN, { mode: 'shadow', explain: true });
    expect(verdict).toMatchObject({ decided_by: 'rules', explanation: { model: { verdict: 'error' } } });
  });

  it('by saying nothing is waited for until the deadline and no longer', async () => {
    const clock = manualClock();
    const verdict = engineOf(
      stubModel(() => new Promise(() => {})),
      clock,
      300,
    ).analyze(PLAIN, { explain: true });
    clock.advance(299);
    clock.advance(52);
    expect(await verdict).toMatchObject({
      decided_by: 'ml-error-rules-fallback',
      latency_ms: 351,
      explanation: { model: { error: 'MODEL_SILENT' } },
    });
  });

  it('because it could not be loaded says why', async () => {
    const engine = engineOf(unavailableModel(new ModelError('MODEL_DIGEST', 'model.onnx differs')));
    expect(engine.info).toMatchObject({ mode: 'hybrid', ml_version: 'unavailable' });
    const verdict = await engine.analyze(PLAIN, { explain: true });
    expect(verdict).toMatchObject({ decided_by: 'ml-error-rules-fallback', ml_version: 'unavailable' });
    expect(verdict.explanation.model.error).toBe('MODEL_DIGEST');
  });
});

describe('the circuit', () => {
  it('opens after three failures in a row, lets one probe through, and closes when it succeeds', async () => {
    const clock = manualClock();
    let healthy = false;
    const model = stubModel((texts) => (healthy ? sure(0.2)(texts) : Promise.reject(new Error('down'))));
    const engine = engineOf(model, clock);
    const decidedBy = async (): Promise<string> => (await engine.analyze(PLAIN)).decided_by;

    for (let call = 0; call < 5; call += 1) expect(await decidedBy()).toBe('ml-error-rules-fallback');
    expect(model.asked).toHaveLength(3);

    clock.advance(5_000);
    expect(await decidedBy()).toBe('ml-error-rules-fallback');
    expect(model.asked).toHaveLength(4);
    clock.advance(5_000);
    expect(await decidedBy()).toBe('ml-error-rules-fallback');
    expect(model.asked).toHaveLength(4);

    healthy = true;
    clock.advance(5_000);
    expect([await decidedBy(), await decidedBy()]).toEqual(['ml', 'ml']);
    expect(model.asked).toHaveLength(6);
  });

  it('says that the model rests', async () => {
    const engine = engineOf(stubModel(() => Promise.reject(new Error('down'))));
    for (let call = 0; call < 3; call += 1) await engine.analyze(PLAIN);
    const { explanation } = await engine.analyze(PLAIN, { explain: true });
    expect(explanation.model.error).toBe('MODEL_RESTING');
  });

  it('is not opened by long texts that ran out of time', async () => {
    const model = stubModel(() => Promise.reject(new ModelError('MODEL_TIMEOUT', 'late')));
    const engine = engineOf(model);
    for (let call = 0; call < 5; call += 1) await engine.analyze(PLAIN);
    expect(model.asked).toHaveLength(5);
  });
});
