import { expect, it } from 'vitest';
import { wire } from '../contract/call.js';
import { onBothDatabases } from '../contract/on-both-databases.js';
import { ATTACK } from '../contract/texts.js';
import { signedIn } from './dashboard-session.js';

const MARKER = 'zebra-marker-4711';

onBothDatabases(
  (service) => {
    it('API8: no text of an input is in a log line, an error or a metric, on any way a call can go', async () => {
      const { key } = await service().account();
      const tiny = await service().account({ plan: 'tiny' });
      const ended = await service().account({ plan: 'trial', trialEndsAt: service().now() - 1 });
      const ada = await signedIn(service(), 'ada');
      const input = `${MARKER} ${ATTACK}\n    at ${MARKER} (${MARKER}:1:1)`;
      const good = JSON.stringify({ input });
      const refused = [];
      const bodies = [
        ...[
          `{"input":"${MARKER}`,
          `${MARKER}`,
          `["${MARKER}"]`,
          `"${MARKER}"`,
          `{"${MARKER}":1}`,
          `{"input":"${MARKER}\\x"}`,
        ],
        ...[`{"input":"${MARKER}","input":"${MARKER}"}`, `{"input":${'['.repeat(99)}"${MARKER}"${']'.repeat(99)}}`],
        MARKER.repeat(100_000),
      ];
      for (const body of bodies) refused.push(await service().call({ body, key }));
      const calls = [
        { body: good },
        { body: JSON.stringify({ input, task: [MARKER] }), key },
        { body: JSON.stringify({ input, task: MARKER.repeat(1_000) }), key },
        { body: JSON.stringify({ input, channel: MARKER }), key },
        { body: good, key: `svc_live_${MARKER}` },
        { body: good, key: ended.key },
        { body: good, key, headers: { 'content-type': `text/${MARKER}` } },
        { body: good, key, headers: { 'content-encoding': MARKER } },
        { body: good, key, path: `/analyze?form=${MARKER}` },
        { body: good, key, path: `/${MARKER}` },
        { body: good, key, path: `/%zz${MARKER}` },
        { body: good, key, method: 'PUT', path: `/analyze?${MARKER}` },
      ];
      for (const of of calls) refused.push(await service().call(of));
      for (let of = 0; of < 4; of++) {
        const answer = await service().call({ body: good, key: tiny.key });
        if (answer.status !== 200) refused.push(answer);
      }
      for (const [method, path, body] of [
        ['POST', '/playground', { input: { text: MARKER } }],
        ['POST', '/playground', { input: 'x', task: MARKER.repeat(1_000) }],
        ['GET', `/evidence?channel=${MARKER}`, undefined],
        ['POST', '/sign-in', { email: MARKER, password: MARKER }],
        ['GET', `/evidence/${MARKER}`, undefined],
        ['GET', `/evidence?cursor=${MARKER}`, undefined],
        ['POST', '/orders', { kind: MARKER }],
      ] as const)
        refused.push(await ada.api(method, path, body));
      expect(refused.map(({ status }) => status).filter((status) => status < 400 || status === 500)).toEqual([]);
      for (const { body } of refused) expect(body).not.toContain(MARKER);
      expect(await wire(service().url, `${MARKER}\r\n\r\n`)).not.toContain(MARKER);
      expect((await service().call({ body: good, key })).json().reason).not.toContain(MARKER);
      const tasked = await service().call({ body: JSON.stringify({ input: 'Hello', task: input }), key });
      expect([tasked.status, tasked.body.includes(MARKER)]).toEqual([200, false]);
      expect((await service().call({ method: 'GET', path: '/metrics' })).body).not.toContain(MARKER);
      const written = service().output();
      expect(written).not.toContain(MARKER);
      expect(written.split('svc_live_'), 'the first key, and no other').toHaveLength(2);
    });
  },
  ['--mode', 'rules', '--log-level', 'debug'],
);
