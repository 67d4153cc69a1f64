import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { createGunzip } from 'node:zlib';
import { createEngine } from '../src/index.js';
import { createGuard } from '../src/policy/index.js';

// What `redact` does to labelled texts: npm run bench -- redact --data FILE.jsonl.gz. Prints aggregates alone.
// Of the attacks that the rules find: how many are allowed after redaction, alone and planted between the halves of a
// benign text, and how much of the benign text is left.

interface Row {
  readonly text: string;
  readonly label: string;
}

const { values } = parseArgs({ options: { data: { type: 'string' }, every: { type: 'string', default: '1' } } });
if (values.data === undefined) throw new Error('--data FILE.jsonl.gz is missing');

const rows: Row[] = [];
const file = createReadStream(values.data);
const input = values.data.endsWith('.gz') ? file.pipe(createGunzip()) : file;
for await (const line of createInterface({ input })) rows.push(JSON.parse(line) as Row);

const engine = createEngine({ model: false });
const guard = createGuard({ engine, on: { tool_result: 'redact' }, cache: false, timeoutMs: 600_000 });
const isAllowed = ({ text }: Row): boolean => engine.scan(text, { channel: 'tool_result' }).verdict === 'allow';

const attacks = rows
  .filter(({ label }) => label !== 'benign')
  .filter((row, index) => index % Number(values.every) === 0 && !isAllowed(row));
const hosts = rows.filter(
  (row) => row.label === 'benign' && row.text.length >= 200 && row.text.length <= 5_000 && isAllowed(row),
);

const commonStart = (a: string, b: string): number => {
  let length = 0;
  while (length < a.length && length < b.length && a[length] === b[length]) length += 1;
  return length;
};
const reversed = (text: string): string => [...text].reverse().join('');

const counts = { alone: 0, planted: 0, blockedPlanted: 0, kept: 0, both: 0 };
let keptChars = 0;
let hostChars = 0;
for (const [index, { text }] of attacks.entries()) {
  if ((await guard.screen('tool_result', text)).action === 'redact') counts.alone += 1;
  const host = hosts[index % hosts.length]?.text ?? '';
  const middle = host.indexOf(' ', host.length / 2);
  const [before, after] = [host.slice(0, middle), host.slice(middle)];
  const decision = await guard.screen('tool_result', `${before}\n\n${text}\n\n${after}`);
  if (decision.action === 'allow') continue;
  counts.blockedPlanted += 1;
  if (decision.action !== 'redact') continue;
  counts.planted += 1;
  // What is left of the first half in one piece, and of the second: a lower bound.
  const left = commonStart(decision.value, before) + commonStart(reversed(decision.value), reversed(after));
  const share = left / (before.length + after.length);
  keptChars += left;
  hostChars += host.length;
  if (share >= 0.9) counts.both += 1;
}
const percent = (part: number, whole: number): string => `${((100 * part) / whole).toFixed(1)} %`;
console.log(`${attacks.length} attacks found by rules, ${hosts.length} benign hosts of 200 to 5,000 characters`);
console.log(`alone: ${counts.alone} allowed after redaction (${percent(counts.alone, attacks.length)})`);
console.log(
  `planted: ${counts.blockedPlanted} blocked, ${counts.planted} of them allowed after redaction (${percent(counts.planted, counts.blockedPlanted)})`,
);
console.log(
  `         ${counts.both} with at least 90 % of the host's text (${percent(counts.both, counts.blockedPlanted)}); ${percent(keptChars, hostChars)} of all host text kept`,
);
