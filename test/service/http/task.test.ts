import { expect, it } from 'vitest';
import type { EvidenceRecord } from '../../../src/evidence/evidence-record.js';
import { createEngine } from '../../../src/index.js';
import type { ScreeningCall } from '../../../src/service/screening/ports.js';
import { testApp } from '../test-app.js';

const TASK = 'Summarise the minutes for bob@example.com.';
const LONG = 'A calm afternoon. '.repeat(2_000);

const engine = createEngine({ model: false });

async function app() {
  const calls: ScreeningCall[] = [];
  const made = await testApp({
    engine: {
      info: engine.info,
      async score(input, call) {
        calls.push(call);
        return engine.scan(input, { channel: call.channel, explain: true });
      },
    },
  });
  const records = (): readonly EvidenceRecord[] => [...made.store.records.values()];
  return { ...made, calls, records };
}

it.each([
  ['/analyze', 'Minutes of Tuesday.'],
  ['/v30/analyze', 'Minutes of Tuesday.'],
  ['/analyze', LONG],
])('%s takes channel and task from the body; the record has both', async (url, input) => {
  const { post, calls, records } = await app();
  const response = await post({ input, channel: 'instructions', task: TASK, more: 1 }, { url });
  expect(response.statusCode).toBe(200);
  expect(calls).toMatchObject([{ channel: 'instructions', task: TASK }]);
  expect(records()).toMatchObject([
    { channel: 'instructions', task: { kept: 'whole', text: TASK, length: TASK.length }, input: { text: input } },
  ]);
});

it('the body of an input alone gives the same bytes as ever, and a record without a task', async () => {
  const { post, calls, records } = await app();
  const keys = ['verdict', 'confidence', 'rule', 'reason', 'rules_version', 'evidence_id', 'latency_ms'];
  const more = ['score', 'threshold', 'decided_by', 'ml_version', 'ml_threshold', 'mode'];
  expect(Object.keys((await post({ input: 'Hello' })).json())).toEqual([...keys, ...more]);
  expect(calls[0]).toMatchObject({ channel: undefined, task: undefined });
  expect((await post({ input: 'Hello', task: '' })).statusCode).toBe(200);
  for (const record of records()) expect(record).not.toHaveProperty('task');
});

it.each([
  ['masked', { kept: 'masked', text: `Summarise the minutes for ${'•'.repeat(15)}.` }],
  ['hash', { kept: 'hash', text: null }],
] as const)('an account that keeps inputs %s keeps tasks so', async (keep, task) => {
  const { post, store, records } = await app();
  const key = 'svc_live_key-of-a-careful-account';
  store.add(key, { settings: { keep } });
  await post({ input: 'Hello', task: TASK }, { headers: { authorization: `Bearer ${key}` } });
  expect(records()[0]?.task).toMatchObject(task);
});

const CHANNEL = /^`channel` must be `user`, `document`, `tool_result`, `tool_call`, `instructions` or `unknown`\.$/;
const TASK_WORDS = /^`task` must be a string of at most 4000 UTF-16 code units\.$/;

it.each([
  ['a channel that there is not', { channel: 'zebra' }, CHANNEL],
  ['a channel of another type', { channel: ['zebra'] }, CHANNEL],
  ['null as the task', { task: null }, TASK_WORDS],
  ['a task of another type', { task: { zebra: 1 } }, TASK_WORDS],
  ['a task that is too long', { task: `zebra${'🦓'.repeat(1_998)}` }, TASK_WORDS],
  ['a channel and a task that are both wrong', { channel: 'zebra', task: 7 }, CHANNEL],
])('400 for %s, which quotes nothing', async (_, body, words) => {
  const { post, calls } = await app();
  for (const input of ['x', LONG]) {
    const response = await post({ input, ...body });
    expect(response.statusCode).toBe(400);
    expect(Object.keys(response.json())).toEqual(['error']);
    expect(response.json().error).toMatch(words);
    expect(response.body).not.toContain('zebra');
  }
  expect(calls).toEqual([]);
});

it('a task of 4,000 code units is taken; without an input it is of no use', async () => {
  const { post } = await app();
  expect((await post({ input: 'x', task: '🦓'.repeat(2_000) })).statusCode).toBe(200);
  expect((await post({ task: TASK })).json()).toEqual({ error: 'The body lacks `input`.' });
});

it('400 for a channel in the body and another in the query', async () => {
  const { post } = await app();
  const twice = await post({ input: 'x', channel: 'user' }, { url: '/analyze?channel=document' });
  expect([twice.statusCode, twice.json().error]).toEqual([
    400,
    '`channel` was sent in the body and in the query; send one.',
  ]);
});
