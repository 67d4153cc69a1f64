// `npm run rules:evidence -- FILE...`: counts, for each rule of `core`, the attacks and benign texts of labelled JSONL files (gzip or
// plain) that it matches on the channel that a text names (`data` is `tool_result`), and writes rules/EVIDENCE.json. `--every N` takes each
// N-th text.
// test/rules/core-pack.test.ts fails when the rules have changed since, so that no figure outlives the rule that it was measured on.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { createEngine } from '../../dist/index.js';
import { root } from '../checkout.mjs';

const { values, positionals } = parseArgs({
  options: { every: { type: 'string', default: '1' } },
  allowPositionals: true,
});
const path = join(root, 'rules', 'EVIDENCE.json');
const engine = createEngine({ mode: 'rules' });
const { rules_version } = engine.info;
const every = Number(values.every);
if (positionals.length === 0 || !Number.isInteger(every) || every < 1) {
  console.error('usage: npm run rules:evidence -- [--every N] FILE.jsonl[.gz]...');
  process.exit(2);
}
const texts = { injection: 0, benign: 0 };
const files = [];
const rules = new Map();
for (const file of positionals) {
  const bytes = readFileSync(file);
  files.push({ name: basename(file), sha256: createHash('sha256').update(bytes).digest('hex') });
  const rows = (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8').split('\n');
  for (const [index, row] of rows.entries()) {
    if (row === '' || index % every !== 0) continue;
    const { text, label, channel } = JSON.parse(row);
    if (!Object.hasOwn(texts, label)) throw new Error(`${file}:${index + 1}: unknown label`);
    texts[label] += 1;
    const { findings, shadow_findings: shadow } = engine.scan(text, {
      explain: true,
      channel: channel === 'data' ? 'tool_result' : channel,
    }).explanation;
    for (const id of new Set([...findings, ...shadow].map(({ rule }) => rule))) {
      const counts = rules.get(id) ?? { attacks: 0, benign: 0 };
      counts[label === 'benign' ? 'benign' : 'attacks'] += 1;
      rules.set(id, counts);
    }
  }
}
const hits = Object.fromEntries([...rules].sort(([a], [b]) => (a < b ? -1 : 1)));
const lines = Object.entries(hits).map(([id, counts]) => `    ${JSON.stringify(id)}: ${JSON.stringify(counts)}`);
const head = JSON.stringify(
  { rules_version, every, files, texts: { attacks: texts.injection, benign: texts.benign } },
  null,
  2,
);
writeFileSync(path, `${head.slice(0, -2)},\n  "hits": {\n${lines.join(',\n')}\n  }\n}\n`);
console.log(`${rules.size} rules match at least one of ${texts.injection} attacks and ${texts.benign} benign texts`);
