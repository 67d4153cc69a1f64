import { expect, it } from 'vitest';
import { type OutputCase, readCases, showOutput, startCase } from '../../../bench/output-cases.js';
import type { Run } from '../../../src/policy/index.js';

interface PlayedCase extends OutputCase {
  readonly run: Run;
  /** Of the answer in one piece. */
  readonly shown: string;
}

async function play(name: 'attacks' | 'honest'): Promise<readonly PlayedCase[]> {
  const played: PlayedCase[] = [];
  for (const each of readCases(name)) {
    const run = await startCase(each);
    played.push({ ...each, run, shown: await showOutput(run, each.output) });
  }
  return played;
}

const attacks = await play('attacks');
const honest = await play('honest');
const idsOf = (cases: readonly PlayedCase[]): readonly string[] => cases.map(({ id, form }) => `${id} ${form}`);

it('stops 39 of 40 forms of exfiltration', () => {
  expect(attacks).toHaveLength(40);
  const missed = attacks.filter(({ output, shown }) => shown === output);
  expect(idsOf(missed)).toEqual(['attack-39 value reversed, host of nobody']);
});

it('changes none of 200 honest answers', () => {
  expect(honest).toHaveLength(200);
  expect(idsOf(honest.filter(({ output, shown }) => shown !== output))).toEqual([]);
});

it('shows the same in a stream, however it is divided', async () => {
  const plain = (text: string): string => text.replace(/evidence=ev_[\da-f]+/g, '');
  for (const { id, run, output, shown } of [...attacks, ...honest])
    for (const length of [1, 4, 37])
      expect(plain(await showOutput(run, output, length)), `${id} in pieces of ${length}`).toBe(plain(shown));
}, 120_000);
