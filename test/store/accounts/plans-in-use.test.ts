import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { databases } from '../databases.js';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-plans-'));
const planFile = (name: string, plans: string): string => {
  const file = join(folder, `${name}.yaml`);
  writeFileSync(file, `plans:\n${plans}overage_pack_calls: 2\n`);
  return file;
};
const both = planFile('both', '  gold: { monthly_calls: 9 }\n  silver: { monthly_calls: 5 }\n');
const silver = planFile('silver', '  silver: { monthly_calls: 5 }\n');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each(databases)('a plan that accounts have and the file lacks, in $name', ({ make }) => {
  it('refuses a server, names it and how many have it, and lets the operator mend it', async () => {
    const database = await make();
    try {
      const before = await database.open({ plansFile: both, serves: true });
      const { id } = await before.accounts.create('One', 'gold');
      await before.accounts.create('Two', 'silver');
      await before.close();
      await expect(database.open({ plansFile: silver, serves: true })).rejects.toMatchObject({
        code: 'STORE_SETTINGS',
        message: expect.stringMatching(/lacks: "gold" \(1\); .*portcullis admin plan set/),
      });
      const operator = await database.open({ plansFile: silver });
      await operator.accounts.setPlan(id, 'silver');
      await operator.close();
      const after = await database.open({ plansFile: silver, serves: true });
      expect(await after.usage.charge(id, Date.now())).toMatchObject({ allowed: true, limit: 5 });
      await after.close();
    } finally {
      await database.remove();
    }
  });
});
