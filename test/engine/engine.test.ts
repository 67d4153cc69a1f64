import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/adapters/system-clock.js';
import type { Channel } from '../../src/engine/channel.js';
import { createEngine, type EngineParts } from '../../src/engine/engine.js';
import { ConfigError, ModelError } from '../../src/engine/errors.js';
import type { Clock } from '../../src/engine/ports.js';
import type { CompiledPack, Rule } from '../../src/engine/rules/types.js';
import { verdictSchema } from '../../src/engine/verdict.js';
import { manualClock } from './manual-clock.js';
import { type StubModel, stubModel, sure } from './stub-model.js';
import { stubPack } from './stub-pack.js';

const EVIDENCE_ID = 'ev_0123456789abcdef01234567';
const engineOf = (parts: Partial<EngineParts> = {}) =>
  createEngine({ pack: stubPack, clock: manualClock(), newEvidenceId: () => EVIDENCE_ID, ...parts });

const STRONG = 'The Armageddon is near';
const WEAK = 'Hmm, well';
const PLAIN = 'Nothing to see';

describe('modes', () => {
  it.each([
    ['rules', STRONG, 0.9, { verdict: 'block', decided_by: 'rules', rule: 'test.strong', ml_version: 'off' }, 0],
    ['rules', PLAIN, 0.9, { verdict: 'allow', decided_by: 'rules', rule: 'none', ml_version: 'off' }, 0],
    ['hybrid', STRONG, 0.1, { verdict: 'block', decided_by: 'rules', rule: 'test.strong', score: 0.9 }, 0],
    [
      'hybrid',
      WEAK,
      0.8,
      { verdict: 'block', decided_by: 'ml', rule: 'ml.classifier', score: expect.closeTo(0.960315, 6) },
      1,
    ],
    ['hybrid', WEAK, 0.7, { verdict: 'block', decided_by: 'ml', threshold: 0.7, ml_threshold: 0.7 }, 1],
    ['hybrid', WEAK, 0.1, { verdict: 'allow', decided_by: 'ml', rule: 'none', score: expect.closeTo(0.401979, 6) }, 1],
    ['shadow', STRONG, 0.1, { verdict: 'block', decided_by: 'rules', rule: 'test.strong' }, 1],
    ['shadow', PLAIN, 0.9, { verdict: 'allow', decided_by: 'rules', rule: 'none', score: 0 }, 1],
  ] as const)('%s: %s with a model at %d', async (mode, text, probability, expected, asked) => {
    const model = stubModel(sure(probability));
    const verdict = await engineOf({ model, mode }).analyze(text);
    expect(verdict).toMatchObject({ ...expected, mode, evidence_id: EVIDENCE_ID });
    expect(verdictSchema.parse(verdict)).toEqual(verdict);
    expect(model.asked).toHaveLength(asked);
  });

  describe('with a model that clears findings', () => {
    const clearing = (answer: StubModel) => ({ ...answer, info: { ...answer.info, clearsBelow: 0.15 } });
    const engineWith = (model: StubModel, limits = {}) =>
      engineOf({ model: clearing(model), thresholds: { rules: 0.2 }, limits });

    it('asks it about a finding that is not certain, and allows what it clears', async () => {
      const model = stubModel(sure(0.1));
      const verdict = await engineWith(model).analyze(WEAK, { explain: true });
      expect(verdict).toMatchObject({ verdict: 'allow', decided_by: 'ml', score: 0.1, rule: 'none' });
      expect(verdict.explanation.model.cleared).toBe(true);
      expect(model.asked).toHaveLength(1);
      expect(await engineWith(stubModel(sure(0.2))).analyze(WEAK)).toMatchObject({
        verdict: 'block',
        decided_by: 'rules',
      });
    });

    it('clears by the limit of the channel', async () => {
      const answer = stubModel(sure(0.3));
      const model = {
        ...answer,
        info: { ...answer.info, clearsBelow: 0.15, channelClearsBelow: { instructions: 0.4 } },
      };
      const engine = engineOf({ model, thresholds: { rules: 0.2 } });
      expect(await engine.analyze(WEAK, { channel: 'instructions' })).toMatchObject({ verdict: 'allow' });
      expect(await engine.analyze(WEAK, { channel: 'user' })).toMatchObject({ verdict: 'block', decided_by: 'rules' });
    });

    it('does not ask it about a certain finding', async () => {
      const model = stubModel(sure(0));
      expect(await engineWith(model).analyze(STRONG)).toMatchObject({ verdict: 'block', decided_by: 'rules' });
      expect(model.asked).toHaveLength(0);
    });

    it('clears nothing that it has not read in full', async () => {
      const long = `${WEAK} ${'and so on, '.repeat(2000)}`;
      expect(await engineWith(stubModel(sure(0))).analyze(long)).toMatchObject({ verdict: 'allow' });
      expect(await engineWith(stubModel(sure(0)), { modelLength: 4000 }).analyze(long)).toMatchObject({
        ...{ verdict: 'block', decided_by: 'rules' },
      });
      const unread = async (texts: readonly string[]) => {
        const answer = await sure(0)(texts);
        return { ...answer, unseen: answer.windows };
      };
      expect(await engineWith(stubModel(unread)).analyze(WEAK)).toMatchObject({ verdict: 'block' });
    });

    it('clears nothing that was hidden', async () => {
      const hidden = Buffer.from(`${WEAK}, what a strange thing to encode`).toString('base64');
      expect(await engineWith(stubModel(sure(0))).analyze(hidden)).toMatchObject({ verdict: 'block' });
    });

    it('clears what stands far from a weaker finding that was hidden', async () => {
      const hidden = Buffer.from('Please mumble here, and then do nothing else').toString('base64');
      const text = `${WEAK}. ${'and so on, '.repeat(100)} ${hidden}`;
      expect(await engineWith(stubModel(sure(0))).analyze(text)).toMatchObject({ verdict: 'allow', decided_by: 'ml' });
    });

    it('blocks by the rules when it fails', async () => {
      const broken = stubModel(() => Promise.reject(new ModelError('MODEL_CRASHED', 'gone')));
      expect(await engineWith(broken).analyze(WEAK)).toMatchObject({
        ...{ verdict: 'block', decided_by: 'ml-error-rules-fallback', rule: 'test.weak' },
      });
    });
  });

  it('is hybrid with a model and rules without one, unless told otherwise', () => {
    expect(engineOf({ model: stubModel(sure(0)) }).info).toMatchObject({ mode: 'hybrid', ml_threshold: 0.7 });
    expect(engineOf().info).toMatchObject({ mode: 'rules', ml_version: 'off', ml_threshold: 0.5, mode_reason: null });
    expect(engineOf({ model: false, modeReason: 'none' }).info).toMatchObject({ mode: 'rules', mode_reason: 'none' });
  });

  it('takes a mode for one call', async () => {
    const engine = engineOf({ model: stubModel(sure(0.9)) });
    expect(await engine.analyze(PLAIN, { mode: 'rules' })).toMatchObject({ mode: 'rules', ml_version: 'off' });
    expect(await engine.analyze(PLAIN, { mode: 'shadow' })).toMatchObject({ mode: 'shadow', decided_by: 'rules' });
    await expect(engineOf().analyze(PLAIN, { mode: 'hybrid' })).rejects.toBeInstanceOf(ConfigError);
  });

  it('scans at once, by the rules alone', () => {
    const model = stubModel(sure(0.9));
    const engine = engineOf({ model });
    expect(engine.scan(PLAIN)).toMatchObject({ verdict: 'allow', mode: 'rules', ml_version: 'off', ml_threshold: 0.7 });
    expect(engine.scan(STRONG)).toMatchObject({
      verdict: 'block',
      mode: 'rules',
      reason: expect.stringContaining('end'),
    });
    expect(model.asked).toEqual([]);
  });
});

describe('settings', () => {
  it.each([
    [{ thresholds: { rules: 0.2 } }, WEAK, 'block'],
    [{ thresholds: { rules: 0.3 } }, WEAK, 'block'],
    [{ thresholds: { rules: 0.31 } }, WEAK, 'allow'],
    [{ model: stubModel(sure(0.5)), thresholds: { model: 0.5 } }, PLAIN, 'block'],
    [{ model: stubModel(sure(0.5)), thresholds: { model: 'strict' } }, PLAIN, 'block'],
    [{ model: stubModel(sure(0.5)), thresholds: { model: 'permissive' } }, PLAIN, 'allow'],
  ] as const)('%o: %s is %s', async (settings, text, verdict) => {
    expect(await engineOf(settings).analyze(text)).toMatchObject({ verdict });
  });

  it('names every mistake at once', () => {
    const build = () =>
      engineOf({ mode: 'shadow', thresholds: { rules: 2, model: Number.NaN }, timeoutMs: 0, limits: { findings: -1 } });
    expect(build).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', issues: expect.objectContaining({ length: 5 }) }),
    );
    const model = stubModel(sure(0));
    expect(() => engineOf({ model, thresholds: { model: 'lax' } })).toThrow(/strict, balanced, permissive/);
    expect(() => engineOf({ model, thresholds: { model: '__proto__' } })).toThrow(ConfigError);
    expect(() => engineOf({ mode: 'all' as never })).toThrow(ConfigError);
  });
});

describe('channel and task', () => {
  it.each([
    [PLAIN, {}, 'unknown', undefined],
    [{ name: 'send', arguments: {} }, {}, 'tool_call', undefined],
    [PLAIN, { channel: 'tool_result', task: 'Read my mail.' }, 'tool_result', 'Read my mail.'],
    [PLAIN, { task: `x${'y'.repeat(4_000)}` }, 'unknown', 'y'.repeat(4_000)],
    [PLAIN, { task: `😀${'y'.repeat(3_999)}` }, 'unknown', 'y'.repeat(3_999)],
    [PLAIN, { task: '' }, 'unknown', undefined],
  ] as const)('of %o with %o reach the model', async (input, options, channel, task) => {
    const model = stubModel(sure(0.1));
    await engineOf({ model }).analyze(input, options);
    expect(model.options).toMatchObject([{ channel, task }]);
  });
});

describe('thresholds by channel', () => {
  const model = () => {
    const stub = stubModel(sure(0.5));
    const thresholds = { strict: 0.1, balanced: 0.4, permissive: 0.6 };
    return { ...stub, info: { ...stub.info, channelThresholds: { document: thresholds } } };
  };

  it.each([
    [undefined, { user: 0.7, unknown: 0.7, document: 0.4 }],
    ['permissive', { user: 0.9, document: 0.6 }],
    [0.5, { user: 0.5, document: 0.5 }],
    [
      { user: 'strict', document: 0.45 },
      { user: 0.3, document: 0.45, unknown: 0.7, tool_call: 0.7 },
    ],
  ] as const)('%o', async (given, expected) => {
    const engine = engineOf({ model: model(), thresholds: { model: given } });
    for (const [channel, threshold] of Object.entries(expected)) {
      const verdict = await engine.analyze(PLAIN, { channel: channel as Channel });
      expect(verdict).toMatchObject({
        ml_threshold: threshold,
        threshold,
        verdict: threshold <= 0.5 ? 'block' : 'allow',
      });
      expect(engine.info.channels[channel as Channel].ml_threshold).toBe(threshold);
    }
  });

  it('lie over those of overlays, and those over the model’s', () => {
    const pack = { ...stubPack, modelThreshold: { user: 'strict', document: 'strict' } };
    const { info } = engineOf({ pack, model: model(), thresholds: { model: { user: 0.2 } } });
    expect(info.channels).toEqual({
      unknown: { ml_threshold: 0.7, operating_point: 'balanced' },
      user: { ml_threshold: 0.2, operating_point: null },
      document: { ml_threshold: 0.1, operating_point: 'strict' },
      tool_result: { ml_threshold: 0.7, operating_point: 'balanced' },
      tool_call: { ml_threshold: 0.7, operating_point: 'balanced' },
      instructions: { ml_threshold: 0.7, operating_point: 'balanced' },
    });
    expect(info).toMatchObject(info.channels.unknown);
  });

  it('of channels that there are not are refused, and texts of them', async () => {
    const thresholds = { model: { users: 'strict' } } as never;
    expect(() => engineOf({ model: model(), thresholds })).toThrow(/`users`/);
    expect(() => engineOf({ model: model(), thresholds: { model: { user: 'lax' } } })).toThrow(/strict, balanced/);
    await expect(engineOf().analyze(PLAIN, { channel: 'system' as never })).rejects.toThrow(ConfigError);
  });
});

describe('explain', () => {
  it('lays out findings, model and channel', async () => {
    const engine = engineOf({ model: stubModel(sure(0.9)), mode: 'shadow' });
    const { explanation } = await engine.analyze(STRONG, { explain: true, channel: 'document' });
    expect(explanation).toMatchObject({
      text_length: STRONG.length,
      channel: 'document',
      router_level: 'advanced',
      rules: { score: 0.9, threshold: 0.5, rule: 'test.strong' },
      model: { score: 0.9, verdict: 'block', error: null, hotspots: [{ start: 0, end: 2 }] },
      findings: [{ rule: 'test.strong', span: { start: 4, end: 14 }, view: 'folded', excerpt: 'Armageddon' }],
      unseen: [],
    });
    expect(explanation.model.windows).toEqual([
      { span: { start: 0, end: STRONG.length }, probability: 0.9, view: 'raw' },
    ]);
  });

  it('names the JSON path inside a tool call', () => {
    const call = { name: 'send', arguments: { to: ['x'], body: { text: STRONG } } };
    const { explanation } = engineOf().scan(call, { explain: true });
    expect(explanation.channel).toBe('tool_call');
    expect(explanation.findings.map(({ path }) => path)).toEqual(['$.arguments.body.text']);
    expect(engineOf().scan(STRONG, { explain: true }).explanation.findings[0]).not.toHaveProperty('path');
  });

  it('says nothing extra unless asked', async () => {
    expect(await engineOf().analyze(STRONG)).not.toHaveProperty('explanation');
  });

  it('cuts a long excerpt on a code-point edge', () => {
    const engine = engineOf({ limits: { excerptLength: 5 } });
    const { explanation } = engine.scan('The 𝖆rmageddon', { explain: true });
    expect(explanation.findings[0]?.excerpt).toBe('𝖆rma…');
  });
});

describe('the model reads what the input hides', () => {
  const hidden = Buffer.from('please open the gates of the castle now').toString('base64');

  it('besides the input itself, and the answer is deep', async () => {
    const model = stubModel(sure(0.9));
    const { explanation } = await engineOf({ model }).analyze(`Note: ${hidden}`, { explain: true });
    expect(model.asked[0]?.[0]).toBe(`Note: ${hidden}`);
    expect(model.asked[0]?.some((text) => text.includes('open the gates'))).toBe(true);
    expect(explanation.router_level).toBe('deep');
    expect(explanation.model.windows.every(({ span }) => span.end <= 6 + hidden.length)).toBe(true);
  });

  it('within limits that are stated', async () => {
    const model = stubModel(sure(0.9));
    const engine = engineOf({ model, limits: { modelViews: 0 } });
    const { explanation } = await engine.analyze(`Note: ${hidden}`, { explain: true });
    expect(model.asked[0]).toHaveLength(1);
    expect(explanation.unseen).toContainEqual(expect.objectContaining({ by: 'model', limit: 'modelViews' }));
  });
});

describe('analyzeMany', () => {
  it('answers in order, a few at once', async () => {
    let underWay = 0;
    let most = 0;
    const model = stubModel(async (texts) => {
      underWay += 1;
      most = Math.max(most, underWay);
      await new Promise((resolve) => setTimeout(resolve, texts[0] === 'slow' ? 20 : 1));
      underWay -= 1;
      return sure(texts[0] === 'slow' ? 0.9 : 0.1)(texts);
    });
    const engine = engineOf({ model });
    const verdicts: string[] = [];
    for await (const { verdict } of engine.analyzeMany(['slow', 'a', 'b', 'c', 'slow'], { concurrency: 3 })) {
      verdicts.push(verdict);
    }
    expect(verdicts).toEqual(['block', 'allow', 'allow', 'allow', 'block']);
    expect(most).toBe(3);
  });

  it('takes a stream, and passes an input mistake on where it stands', async () => {
    async function* texts() {
      yield 'a';
      yield undefined as never;
    }
    const answers = engineOf().analyzeMany(texts());
    await expect(answers.next()).resolves.toMatchObject({ value: { verdict: 'allow' } });
    await expect(answers.next()).rejects.toMatchObject({ code: 'INPUT_MISSING' });
  });
});

describe('any input', () => {
  it('gets a verdict that keeps the invariants', async () => {
    const engine = engineOf({ model: stubModel(sure(0.4)) });
    const input = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), fc.jsonValue());
    await fc.assert(
      fc.asyncProperty(input, async (text) => {
        const { explanation, ...verdict } = await engine.analyze(text as string, { explain: true });
        expect(verdictSchema.parse(verdict)).toEqual(verdict);
        for (const { span } of explanation.model.windows) expect(span.end).toBeLessThanOrEqual(explanation.text_length);
      }),
    );
  });
});

describe('close and warmUp', () => {
  it('scans benign texts of the rules in a full warm-up, none in a short one', async () => {
    const scanned: string[] = [];
    const negative = [{ text: 'A benign sentence. '.repeat(30), why: 'benign' }];
    const pack = {
      ...stubPack,
      rules: Array.from({ length: 4 }, () => stubPack.rules[0] as Rule).map((rule) => ({
        ...rule,
        examples: { ...rule.examples, negative },
      })),
      scan: (...args: Parameters<typeof stubPack.scan>) => {
        scanned.push(args[0][0]?.text ?? '');
        return stubPack.scan(...args);
      },
    };
    const engine = engineOf({ pack });
    await engine.warmUp({ patterns: 'common' });
    expect(scanned).toHaveLength(1);
    await engine.warmUp();
    expect(scanned.slice(2).map(({ length }) => length)).toEqual([1000, 1000]);
    expect(scanned[2]).toContain('A benign sentence.');
  });

  it.each([
    ['rests nine times as long as it works at a tenth of the time', { share: 0.1 }, 36],
    ['goes on at once without a share', {}, 0],
  ])('%s', async (_name, options, pause) => {
    const pauses: number[] = [];
    const slices: number[] = [];
    let now = 0;
    const clock: Clock = {
      now: () => now,
      after(ms, run) {
        pauses.push(Math.round(ms));
        now += ms;
        queueMicrotask(run);
        return () => {};
      },
    };
    // Ten patterns of a millisecond each.
    const compileTen = (): CompiledPack['warmUp'] => {
      let left = 10;
      return (shouldContinue = () => true) => {
        const start = now;
        do {
          now += 1;
          left -= 1;
        } while (left > 0 && shouldContinue());
        slices.push(now - start);
        return left === 0;
      };
    };
    const engine = engineOf({ clock, pack: { ...stubPack, warmUp: compileTen() } });
    await engine.warmUp(options);
    expect(slices).toEqual([4, 4, 2]);
    expect(pauses).toEqual([pause, pause]);
  });

  it.each([0, -1, 1.5, Number.NaN])('refuses a share of %s', async (share) => {
    await expect(engineOf({}).warmUp({ share })).rejects.toThrow(/`share` must be above 0/);
  });

  it('pass on to the model where the mode uses it', async () => {
    const failing = { ...stubModel(sure(0)), warmUp: () => Promise.reject(new ModelError('MODEL_LOAD', 'no')) };
    await expect(engineOf({ model: failing }).warmUp()).rejects.toMatchObject({ code: 'MODEL_LOAD' });
    await expect(engineOf({ model: failing, mode: 'rules' }).warmUp()).resolves.toBeUndefined();
    await expect(engineOf({ model: failing }).close()).resolves.toBeUndefined();
  });

  it('leaves no unhandled rejection when the model fails before the patterns are ready', async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', note);
    try {
      let slices = 0;
      // Node reports a rejection that nobody handles after one turn of the event loop; each slice is one.
      const warmUp = (): boolean => {
        slices += 1;
        return slices > 20;
      };
      const slow: CompiledPack = { ...stubPack, warmUp };
      const failing = { ...stubModel(sure(0)), warmUp: () => Promise.reject(new ModelError('MODEL_LOAD', 'no')) };
      const engine = engineOf({ model: failing, pack: slow, clock: systemClock });
      await expect(engine.warmUp()).rejects.toMatchObject({ code: 'MODEL_LOAD' });
      await vi.waitFor(() => expect(slices).toBeGreaterThan(20));
      expect(unhandled).toEqual([]);
    } finally {
      process.off('unhandledRejection', note);
    }
  });
});
