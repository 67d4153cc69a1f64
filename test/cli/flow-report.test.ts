import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeRecord } from '../store/make-record.js';
import { runCli, runCommand } from './run-cli.js';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'portcullis-flow-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const flow = (level: 'suspicious' | 'foreign', tool?: string) => ({
  ...{ argument: 'to[3]', kind: 'email', level },
  source: { ...(tool === undefined ? {} : { tool }), evidenceId: 'ev_1', span: { start: 3, end: 9 }, probability: 0.4 },
});
const event = (flows: readonly object[], more: object = {}) => ({
  ...{ runId: 'run_1', evidenceId: 'ev_2', point: 'tool_call', tool: 'send_mail', verdict: 'allow', action: 'report' },
  ...{ cause: flows.length === 0 ? 'verdict' : 'flow', flows, ...more },
});

function file(name: string, rows: readonly unknown[]): string {
  const path = join(folder, name);
  writeFileSync(path, rows.map((row) => `${typeof row === 'string' ? row : JSON.stringify(row)}\n`).join(''));
  return path;
}

const report = (...args: string[]) => runCommand(['flow', 'report', ...args]);

it('reads events, gateway reports and evidence, and writes the policy of the confirmed rows', async () => {
  const bare = makeRecord({ accountId: 'acct_1', time: Date.UTC(2026, 10, 21), text: 'to carl@x.example' });
  const effect = { effect: 'send', why: 'name' };
  const decision = { action: 'report', rule: 'flow.foreign', reason: 'A sentence.', effect };
  const evidence = {
    ...bare,
    run: { id: 's7', tool: 'send_mail', flow: { ...decision, flows: [flow('foreign', 'wiki')] } },
  };
  const events = file('events.jsonl', [
    event([flow('suspicious', 'search_mail'), flow('foreign', 'get_contacts')], { time: '2026-11-20T10:00:00.000Z' }),
    event([]),
    event([flow('foreign', 'get_contacts')], { event: 'screening', server: 'mail', runId: 'run_2' }),
    event([flow('foreign')], { tool: 'a\u001b[31m tool' }),
    { event: 'tool_pin', runId: 'run_1', tool: 'x', action: 'hide', reason: 'r' },
  ]);
  const exported = file('evidence.jsonl', [evidence, bare]);
  const text = await report(events, exported);
  expect([text.status, text.stderr]).toEqual([0, '']);
  expect(text.stdout).toContain('7 events read: 4 calls in 3 runs carried values from data, 2026-11-20 to 2026-11-21.');
  expect(text.stdout).toMatch(/^send_mail +send \(name\) +1 +2$/m);
  expect(text.stdout).toMatch(/^[\da-f]{16} {2}send_mail +to\[\*\] +email +get_contacts +foreign +2 +2 +0\.40 +ev_2$/m);
  expect(text.stdout).toMatch(/\(a document\)/);
  for (const unsafe of ['\u001b', 'carl']) expect(text.stdout).not.toContain(unsafe);

  const { rows } = JSON.parse((await report('--json', events, exported)).stdout) as {
    rows: { id: string; source: string | null; level: string }[];
  };
  const idOf = (source: string | null) => rows.find((row) => row.source === source)?.id ?? '';
  const policy = join(folder, 'policy.json');
  const read = () => JSON.parse(readFileSync(policy, 'utf8'));
  expect((await report(events, '--write', policy)).stderr).toContain('permits nothing that comes from data');
  expect(read()).toEqual({ on: { flow: { suspicious: 'deny', foreign: 'deny' } }, tools: {} });
  expect((await report(events, exported, '--write', policy, '--confirm', idOf('get_contacts'))).stderr).toContain(
    'permits one kind of flow, 1 confirmed now',
  );
  await report(exported, '--write', policy, '--foreign', 'ask', '--confirm', idOf('wiki'));
  expect(read()).toEqual({
    on: { flow: { suspicious: 'deny', foreign: 'ask' } },
    tools: {
      send_mail: {
        accepts: [
          { from: 'get_contacts', argument: 'to[*]', kind: 'email' },
          { from: 'wiki', argument: 'to[*]', kind: 'email' },
        ],
      },
    },
  });
  const unnamed = await report(events, '--write', policy, '--confirm', idOf(null));
  expect([unnamed.status, unnamed.stderr]).toEqual([2, expect.stringContaining('one of these has no name of its own')]);
}, 120_000);

it('decides again what events and evidence hold, with the answers that were given then', async () => {
  const decided = {
    ...{ rule: 'flow.suspicious', effect: { effect: 'send', why: 'name' } },
    policy: { suspicious: 'ask', foreign: 'report' },
  };
  const flows = [flow('suspicious', 'search_mail')];
  const of = (more: object) => event(flows, { ...decided, ...more });
  const record = {
    ...makeRecord({ accountId: 'acct_1', time: Date.UTC(2026, 10, 21) }),
    run: { id: 's7', tool: 'send_mail', flow: { ...decided, action: 'ask', reason: 'A sentence.', flows } },
  };
  const rows = [
    ...[of({ judgement: { serves: true, model: 'small' } }), of({ judgement: { serves: false }, answer: true })],
    ...[of({ action: 'ask', judgement: { failure: 'timeout' } }), of({ action: 'deny', answer: false }), record],
  ];
  const alike = await report(file('alike.jsonl', rows));
  expect([alike.status, alike.stdout]).toEqual([0, expect.stringContaining('\n5 of 5 decisions are the same')]);
  const changed = file('changed.jsonl', [...rows, of({ evidenceId: 'ev_7', judgement: { serves: false } })]);
  const text = await report(changed);
  expect([text.status, text.stdout]).toEqual([
    1,
    expect.stringContaining('\n5 of 6 decisions are the same when replayed. Decided otherwise now: ev_7\n'),
  ]);
  expect(JSON.parse((await report('--json', changed)).stdout)).toMatchObject({ alike: 5, different: ['ev_7'] });
  const emptied = { ...of({ evidenceId: 'ev_8', judgement: { serves: false } }), flows: [] };
  expect(JSON.parse((await report('--json', file('emptied.jsonl', [...rows, emptied]))).stdout)).toMatchObject({
    ...{ alike: 5, different: ['ev_8'] },
  });
}, 60_000);

it('names rows that are no events by their lines, and quotes none', async () => {
  const events = file('events.jsonl', [
    event([flow('foreign', 'wiki')]),
    '{"secret": ',
    { text: 'secret' },
    { ...event([]), cause: 'flow', flows: [{ argument: 'secret' }] },
  ]);
  const { status, stderr, stdout } = runCli(['flow', 'report', events]);
  expect([status, stdout]).toEqual([2, '']);
  expect(stderr).toContain("3 rows can't be used:\n  events.jsonl:2: not JSON\n  events.jsonl:3: not an event\n");
  expect(stderr).toContain("events.jsonl:4: its flow can't be read: check `flows.0.kind`");
  expect(stderr).not.toContain('secret');
  expect((await report('--skip-bad-rows', events)).stdout).toContain('1 event read: 1 call in 1 run');
}, 60_000);

it.each<[string, readonly string[], string]>([
  ['an id that is not there', ['--write', 'POLICY', '--confirm', '0000000000000000'], 'the report has no such row'],
  ['a confirmation without a file', ['--confirm', '0000000000000000'], 'say what --write writes'],
  ['a file that is no policy', ['--write', 'OTHER'], 'it has `on` and `tools`, not `tool`'],
  ['a policy with a mistake', ['--write', 'WRONG'], 'is not an action for flow.foreign'],
])(
  'says what is wrong: %s',
  async (_, args, said) => {
    const events = file('events.jsonl', [event([flow('foreign', 'wiki')])]);
    const places: Record<string, string> = {
      POLICY: join(folder, 'policy.json'),
      OTHER: file('other.json', [{ tool: {} }]),
      WRONG: file('wrong.json', [{ on: { flow: { foreign: 'no' } } }]),
    };
    const { status, stderr } = await report(events, ...args.map((arg) => places[arg] ?? arg));
    expect([status, stderr]).toEqual([2, expect.stringContaining(said)]);
    expect(existsSync(join(folder, 'policy.json'))).toBe(false);
  },
  60_000,
);

it('the gateway reads a policy before it starts', () => {
  const wrong = file('wrong.json', [{ tools: { send_mail: { accepts: ['to'] } } }]);
  const { status, stderr } = runCli(['mcp-proxy', '--policy', wrong, '--', 'true']);
  expect([status, stderr]).toEqual([2, expect.stringContaining('accepts of a tool is a list of { from')]);
}, 60_000);

it('the hook writes what it would refuse, and keeps to the policy', async () => {
  const state = join(folder, 'state');
  const events = join(folder, 'events.jsonl');
  const policy = join(folder, 'policy.json');
  const hook = (asked: object, ...flags: string[]) =>
    runCommand(['hook', '--state', state, ...flags], JSON.stringify({ session_id: 's1', ...asked }));
  const call = async (to: string, ...flags: string[]) => {
    const { stdout } = await hook(
      { hook_event_name: 'PreToolUse', tool_name: 'send_mail', tool_input: { to: [to] } },
      ...flags,
    );
    return stdout === '' ? 'allow' : JSON.parse(stdout).hookSpecificOutput.permissionDecision;
  };
  await hook({ hook_event_name: 'UserPromptSubmit', prompt: 'Answer my mail.' });
  const contacts = [{ type: 'text', text: 'Anna: anna@team.example, Max: +49 30 1234567' }];
  await hook({ hook_event_name: 'PostToolUse', tool_name: 'get_contacts', tool_response: contacts });
  expect(await call('anna@team.example', '--report', events)).toBe('allow');
  const { rows } = JSON.parse((await report('--json', events)).stdout) as { rows: { id: string; argument: string }[] };
  expect(rows).toMatchObject([{ tool: 'send_mail', source: 'get_contacts', argument: 'to[*]', kind: 'email' }]);
  await report(events, '--write', policy);
  expect(await call('anna@team.example', '--policy', policy)).toBe('deny');
  await report(events, '--write', policy, '--confirm', rows[0]?.id ?? '');
  expect(await call('anna@team.example', '--policy', policy)).toBe('allow');
  expect(await call('+49 30 1234567', '--policy', policy)).toBe('deny');
}, 120_000);
