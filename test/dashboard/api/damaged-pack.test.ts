import { pino } from 'pino';
import { afterEach, expect, test } from 'vitest';
import type { OverlayStack } from '../../../src/adapters/packs/overlay-stack.js';
import { PackError, type PackPlace } from '../../../src/engine/rules/pack/pack-error.js';
import { ask, signIn, type TestDashboard, testDashboard } from '../test-dashboard.js';

const FILE = '/opt/portcullis/dist/core-pack.json';
const CORE: PackPlace = { in: 'pack', name: '', path: [] };
const SERVER_OVERLAY: PackPlace = { in: 'overlay', name: FILE, path: [] };
const damage = (place: PackPlace) => (): never => {
  throw new PackError([{ code: 'PACK010', message: `${FILE} is missing.`, advice: 'Reinstall.', place }]);
};
const withStack = (stack: () => never): (() => OverlayStack) => {
  return () => ({ parse: () => ({ rules: {}, allow: [], threshold: 0.5 }), stack });
};

let it: TestDashboard | undefined;
afterEach(() => it?.close());

test.each([
  ['a pack that cannot be loaded', damage(CORE)],
  ['an overlay of the server that is gone', damage(SERVER_OVERLAY)],
  ['a pack whose word lists cannot be read', withStack(damage(CORE))],
])('%s: members and callers get a general error, the log names the file', async (_, stackOf) => {
  const lines: string[] = [];
  const logger = pino({ level: 'error' }, { write: (line) => void lines.push(line) });
  it = await testDashboard({ stackOf, logger });
  const ada = await signIn(it, 'sign-up', { account: 'A', email: 'a@example.com', password: 'a long password' });
  const key = (await ask(it, ada, 'POST', '/keys', { name: 'a' })).json().secret;
  const { id } = await it.screen(ada.accountId, 'Good morning.');
  const overlay = { rules: {}, allow: [], threshold: 0.6 };
  const version = { source: 'threshold: 0.6', overlay, note: '', rulesVersion: 'x', actor: 'a@example.com' };
  await it.store.overlays.apply(ada.accountId, version);
  const source = 'threshold: 0.5';
  const responses = [
    await ask(it, ada, 'POST', '/overlay/preview', { source }),
    await ask(it, ada, 'POST', '/overlay', { source, replaces: 1 }),
    await ask(it, ada, 'POST', '/overlay/draft', { source, threshold: 0.7 }),
    await ask(it, ada, 'POST', '/playground', { input: 'Good morning.' }),
    await ask(it, ada, 'POST', `/evidence/${id}/replay?against=current`, {}),
    await it.app.inject({
      ...{ method: 'POST', url: '/analyze', payload: { input: 'Good morning.' } },
      headers: { authorization: `Bearer ${key}` },
    }),
  ];
  for (const { body } of responses) expect(body).not.toContain('portcullis/dist');
  const failed = responses.filter(({ statusCode }) => statusCode === 500);
  expect(failed.length).toBeGreaterThanOrEqual(5);
  expect(lines.filter((line) => line.includes(FILE))).toHaveLength(failed.length);
});
