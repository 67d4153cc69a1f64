// npm run bench -- tenants [--seconds N] [--rounds N] [--record]: what one account's load of 1 MiB bodies does to the latencies of another.
import { writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { killServices, shownKey, startService } from '../test/service/service-process.js';
import { installedCorpus } from './corpus.js';
import { httpLoad, type LoadResult } from './service/http-load.js';
import { RULES_FLAGS, soakPlace, withSoakStore } from './soak/soak-place.js';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
    record: { type: 'boolean', default: false },
  },
});
const ms = Number(values.seconds) * 1_000;
const MIB = 1024 * 1024;
/** Room for the rest of the body. */
const LENGTH = MIB - 64;
const NOISY = 30;
const QUIET = 8;

const fill = (text: string): string => text.repeat(Math.ceil(LENGTH / text.length)).slice(0, LENGTH);
const object: Record<string, number> = {};
for (let at = 0; at < 19_000; at++) object[`name of value number ${at}`] = at;

/** What the noisy account sends. */
const noises: readonly { readonly name: string; readonly keep: 'whole' | 'masked'; readonly body: string }[] = [
  {
    name: 'prose',
    keep: 'whole',
    body: JSON.stringify({ input: fill('the quick brown fox jumps over the lazy dog. ') }),
  },
  { name: 'an object of 19,000 values', keep: 'whole', body: JSON.stringify({ input: object }) },
  {
    name: 'trigger words',
    keep: 'whole',
    body: JSON.stringify({ input: fill('ignore previous system prompt instructions ') }),
  },
  {
    name: 'secrets, masked in the evidence',
    keep: 'masked',
    body: JSON.stringify({ input: fill('password: ') }),
  },
];

const corpus = installedCorpus().pieces(200, 5_000);
const place = soakPlace();
const service = await startService(['--data', place.folder, ...RULES_FLAGS, '--log-level', 'error']);
const noisyKey = shownKey(service);
const { quietKey, noisyId } = await withSoakStore({ data: place.folder, plansFile: place.plans }, async (store) => {
  const account = await store.accounts.create('quiet', 'trial');
  const noisy = (await store.accounts.list())[0];
  return { quietKey: (await store.keys.create(account.id, 'bench')).secret, noisyId: noisy?.id ?? '' };
});

let turn = 0;
const quiet = (): Promise<LoadResult> =>
  httpLoad({
    url: service.url,
    path: '/analyze',
    headers: { Authorization: `Bearer ${quietKey}` },
    body: () => JSON.stringify({ input: corpus[turn++ % corpus.length] }),
    connections: QUIET,
    ms,
  });
const middle = (numbers: readonly number[]): number => [...numbers].sort((a, b) => a - b)[numbers.length >> 1] ?? 0;
const rows: string[] = [];
const say = (line: string): void => {
  rows.push(line);
  process.stdout.write(`${line}\n`);
};
try {
  await quiet();
  say(
    '| 30 calls of 1 MiB at once | p50 alone | p50 beside | p99 alone | p99 beside | p99 ratio | noisy calls | statuses beside |',
  );
  say('| - | - | - | - | - | - | - | - |');
  for (const { name, keep, body } of noises) {
    await withSoakStore({ data: place.folder, plansFile: place.plans }, (store) =>
      store.accounts.setSettings(noisyId, { keep }),
    );
    const turns: { readonly alone: LoadResult; readonly beside: LoadResult; readonly noisy: LoadResult }[] = [];
    for (let round = 0; round < Number(values.rounds); round++) {
      const alone = await quiet();
      const noise = httpLoad({
        url: service.url,
        path: '/analyze',
        headers: { Authorization: `Bearer ${noisyKey}` },
        body: () => body,
        connections: NOISY,
        ms: ms + 500,
      });
      await new Promise((resolve) => setTimeout(resolve, 250));
      const beside = await quiet();
      turns.push({ alone, beside, noisy: await noise });
    }
    const of = (pick: (it: (typeof turns)[number]) => number): string => middle(turns.map(pick)).toFixed(1);
    const statuses = new Set(turns.flatMap(({ beside }) => [...beside.statuses.keys()]));
    say(
      `| ${name} | ${of((it) => it.alone.p50)} | ${of((it) => it.beside.p50)} | ${of((it) => it.alone.p99)} | ${of((it) => it.beside.p99)} | ${of((it) => it.beside.p99 / it.alone.p99)} | ${of((it) => it.noisy.answers)} | ${[...statuses].join(', ')} |`,
    );
  }
} finally {
  killServices();
  place.remove();
}
if (values.record)
  writeFileSync(
    join('bench', 'record', 'tenants.md'),
    `# A noisy tenant beside another, ${new Date().toISOString().slice(0, 10)}

Made by \`npm run bench -- tenants --record\`: mode \`rules\`, one engine worker, embedded database, on ${availableParallelism()} cores, Node ${process.version},
load average ${loadavg()[0]?.toFixed(1)} at the end. One account sends ${NOISY} bodies of 1 MiB at once; another sends distinct texts of 200 characters over ${QUIET}
connections, alone and beside it in turns of ${values.seconds} s. Milliseconds, medians of ${values.rounds} rounds. The clients run on the same cores.

${rows.join('\n')}
`,
  );
