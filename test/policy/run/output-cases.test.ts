import { expect, it } from 'vitest';
import { isChanged, type OutputCase, playCase, readCases } from '../../../bench/output-cases.js';

const idsOf = async (cases: readonly OutputCase[], wanted: boolean): Promise<readonly string[]> => {
  const found: string[] = [];
  for (const each of cases) if (isChanged(await playCase(each), each) === wanted) found.push(`${each.id} ${each.form}`);
  return found;
};

it('stops 39 of 40 forms of exfiltration', async () => {
  const attacks = readCases('attacks');
  expect(attacks).toHaveLength(40);
  expect(await idsOf(attacks, false)).toEqual(['attack-39 value reversed, host of nobody']);
});

it('changes none of 200 honest answers', async () => {
  const honest = readCases('honest');
  expect(honest).toHaveLength(200);
  expect(await idsOf(honest, true)).toEqual([]);
});
