import { afterAll, describe, expect, it } from 'vitest';
import { killSoak } from '../../../bench/soak/kill.js';
import { memorySoak } from '../../../bench/soak/memory.js';
import { modelSoak } from '../../../bench/soak/model.js';
import { outageSoak } from '../../../bench/soak/outage.js';
import { quotaSoak } from '../../../bench/soak/quota.js';
import { killServices } from '../service-process.js';

afterAll(killServices);

/** Short forms of `npm run proof -- soak`, but for the keys: `test/security/keys.test.ts`. How fast a start is isn't judged here: other tests run beside. */
const soaks = [
  ['kill -9 under load', () => killSoak(3, 30_000), 'acknowledged'],
  ['PostgreSQL away under load', () => outageSoak(2), 'acknowledged'],
  ['a quota over three replicas', () => quotaSoak(1, 900), 'passed in all'],
  ['scorers killed and hung, a spoilt model', () => modelSoak(2, 1, 5_000), 'fallback'],
  ['memory over many calls', () => memorySoak(3_000), 'calls'],
] as const;

describe('the service under load and trouble', () => {
  it.each(soaks)(
    '%s',
    async (_name, soak, worked) => {
      const { facts, faults } = await soak();
      // Memory in the short form is still that of a start.
      expect(faults.filter((it) => !it.includes('memory grows'))).toEqual([]);
      expect((facts as Record<string, unknown>)[worked]).toBeGreaterThan(0);
    },
    240_000,
  );
});
