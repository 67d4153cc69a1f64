import { expect, it } from 'vitest';
import { onBothDatabases } from '../contract/on-both-databases.js';
import { HARMLESS } from '../contract/texts.js';
import { rotateUnderLoad } from './rotate-under-load.js';

/** `npm run proof -- keys` asks for 500. */
const rotations = Number(process.env.PORTCULLIS_PROOF_ROTATIONS ?? 10);
const body = { input: HARMLESS };

onBothDatabases((service) => {
  it('API2: a revoked key is refused a second later at most, however busy it is', async () => {
    const revokeUnderLoad = async (): Promise<void> => {
      const { key, keyId, accountId } = await service().account();
      const statuses: { readonly sent: number; readonly status: number }[] = [];
      let stop = false;
      const callers = Array.from({ length: 4 }, async () => {
        while (!stop) {
          const sent = performance.now();
          statuses.push({ sent, status: (await service().call({ body, key })).status });
        }
      });
      await new Promise((resolve) => setTimeout(resolve, 300));
      await service().store.keys.revoke(accountId, keyId);
      const revoked = performance.now();
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      stop = true;
      await Promise.all(callers);
      const late = statuses.filter(({ sent }) => sent > revoked + 1_000);
      expect(late.length).toBeGreaterThan(0);
      expect(late.filter(({ status }) => status !== 401)).toEqual([]);
      const early = statuses.filter(({ sent }) => sent < revoked - 200);
      expect(early.length).toBeGreaterThan(0);
      expect(early.filter(({ status }) => status !== 200)).toEqual([]);
    };
    await Promise.all([revokeUnderLoad(), revokeUnderLoad(), revokeUnderLoad()]);
  });

  it('API2: rotations under load give no false 401 within the grace, and the old key is refused after it', async () => {
    const shown = await rotateUnderLoad(service(), rotations);
    if (rotations > 10) console.log(`${rotations} rotations: ${JSON.stringify(shown)}`);
    expect(shown.calls).toBeGreaterThan(20);
    expect(shown).toMatchObject({ falseRefusals: 0, lateAcceptances: 0 });
  }, 900_000);

  it('API2: keys that are nearly right are refused, and nothing tells how nearly', async () => {
    const { key } = await service().account();
    const { key: other } = await service().account();
    const wrong = [
      `${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`,
      `${key.slice(0, 30)}${other.slice(30)}`,
      key.slice(0, -1),
      `${key}A`,
      key.toUpperCase(),
      key.replace('svc_live_', 'svc_test_'),
      key.replace('svc_live_', ''),
      `svc_live_${'A'.repeat(49)}`,
      `${key}\u00a0`,
      "' OR 1=1 --",
    ];
    const answers = [];
    for (const it of wrong) answers.push(await service().call({ body, key: it }));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
    expect(new Set(answers.slice(0, 8).map((it) => it.body)).size).toBe(1);
    expect(answers[0]?.headers['www-authenticate']).toBe('Bearer');
    expect((await service().call({ body, key })).status).toBe(200);
  });
});
