import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verdictSchema } from '../../src/index.js';
import { databases, type TestDatabase } from '../store/databases.js';
import { onBothDatabases } from './on-both-databases.js';
import { type Service, startService } from './service.js';
import { ATTACK, HARMLESS } from './texts.js';

const SCORE = /^(0\.\d+|1\.0)$/;

onBothDatabases(
  (service) => {
    it('in `hybrid` both may block; each verdict says who decided, by its threshold', async () => {
      const { key, accountId } = await service().account();
      const byRules = await service().call({ body: { input: ATTACK }, key });
      expect(byRules.json()).toMatchObject({ mode: 'hybrid', verdict: 'block', decided_by: 'rules' });
      const byModel = await service().call({ body: { input: HARMLESS }, key });
      const verdict = byModel.json();
      expect(verdictSchema.safeParse(verdict).error).toBeUndefined();
      expect(verdict).toMatchObject({ mode: 'hybrid', verdict: 'allow', decided_by: 'ml', rule: 'none' });
      expect(verdict.threshold).toBe(verdict.ml_threshold);
      expect(verdict.ml_version).toMatch(/^portcullis-/);
      expect(byModel.headers['x-svc-model-score']).toMatch(SCORE);
      expect(byModel.headers['x-svc-model-verdict']).toBe('allow');
      expect(byModel.headers['x-svc-supav4-score']).toBe(byModel.headers['x-svc-model-score']);
      const record = await service().store.evidence.get(accountId, verdict.evidence_id);
      expect(record?.model.windows.length).toBeGreaterThan(0);
      expect(record?.verdict).toEqual(verdict);
    });

    it('X-SVC-Router-Level is `rules`, `advanced` for one pass of the model, `deep` for several', async () => {
      const { key } = await service().account();
      const levels = [];
      for (const input of [ATTACK, HARMLESS, HARMLESS.repeat(60)])
        levels.push((await service().call({ body: { input }, key })).headers['x-svc-router-level']);
      expect(levels).toEqual(['rules', 'advanced', 'deep']);
    });
  },
  ['--mode', 'hybrid'],
);

describe.each(databases)('a model that is watched, or that fails, on $name', ({ make }) => {
  let folder: string;
  let database: TestDatabase;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'portcullis-model-'));
    database = await make();
  });
  afterAll(async () => {
    await database?.remove();
    rmSync(folder, { recursive: true, force: true });
  });
  const started = (...flags: readonly string[]): Promise<Service> => startService(database, folder, flags);

  it('in `shadow` the model runs and is reported, and the rules alone decide', async () => {
    const shadow = await started('--mode', 'shadow');
    const { key } = await shadow.account();
    const { headers, json } = await shadow.call({ body: { input: HARMLESS }, key });
    await shadow.stop();
    expect(json()).toMatchObject({ mode: 'shadow', decided_by: 'rules', verdict: 'allow' });
    expect(headers['x-svc-model-score']).toMatch(SCORE);
    expect(headers['x-svc-model-verdict']).toMatch(/^(allow|block)$/);
  }, 120_000);

  it('where the model fails, here by a flipped bit, the rules decide, and the answer says so', async () => {
    const model = join(folder, 'model');
    const shipped = readdirSync('models').find((name) => name.startsWith('portcullis-')) ?? '';
    cpSync(join('models', shipped), model, { recursive: true });
    const weights = readFileSync(join(model, 'model.onnx'));
    weights[1_000_000] = (weights[1_000_000] ?? 0) ^ 1;
    writeFileSync(join(model, 'model.onnx'), weights);
    const hybrid = await started('--mode', 'hybrid', '--model', model);
    const { key, accountId } = await hybrid.account();
    const attack = await hybrid.call({ body: { input: ATTACK }, key });
    const harmless = await hybrid.call({ body: { input: HARMLESS }, key });
    const record = await hybrid.store.evidence.get(accountId, harmless.json().evidence_id);
    await hybrid.stop();
    const { operating_points, operating_point } = JSON.parse(readFileSync(join(model, 'manifest.json'), 'utf8'));
    expect(harmless.json().ml_threshold).toBe(operating_points[operating_point].threshold);
    expect([attack.status, harmless.status]).toEqual([200, 200]);
    // What the rules block they block before the model is asked.
    expect(attack.json()).toMatchObject({ verdict: 'block', decided_by: 'rules' });
    expect(harmless.json()).toMatchObject({ verdict: 'allow', rule: 'none', decided_by: 'ml-error-rules-fallback' });
    expect(verdictSchema.safeParse(harmless.json()).error).toBeUndefined();
    expect(harmless.headers).toMatchObject({ 'x-svc-model-score': 'n/a', 'x-svc-model-verdict': 'error' });
    expect(record?.model.verdict).toBe('error');
  }, 120_000);
});
