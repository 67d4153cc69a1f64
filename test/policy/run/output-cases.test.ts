import { expect, it } from 'vitest';
import { type OutputCase, readCases, showOutput, startCase } from '../../../bench/output-cases.js';

const idsOf = async (cases: readonly OutputCase[], wanted: boolean): Promise<readonly string[]> => {
  const found: string[] = [];
  for (const each of cases)
    if (((await showOutput(await startCase(each), each.output)) !== each.output) === wanted)
      found.push(`${each.id} ${each.form}`);
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

it('shows the same in a stream, however it is divided', async () => {
  const plain = (text: string): string => text.replace(/evidence=ev_[\da-f]+/g, '');
  for (const each of [...readCases('attacks'), ...readCases('honest')]) {
    const run = await startCase(each);
    const whole = plain(await showOutput(run, each.output));
    for (const length of [1, 4, 37])
      expect(plain(await showOutput(run, each.output, length)), `${each.id} in pieces of ${length}`).toBe(whole);
  }
}, 120_000);
