// `npm run rules:evidence -- [--every N] FILE...`: counts, for each rule of `core`, the attacks and benign texts of labelled JSONL files
// (gzip or plain) that it matches on the channel that a text names (`data` is `tool_result`), and writes rules/EVIDENCE.json. `--every N`
// takes each N-th text.
// `-- --check`: lists the rules whose patterns have no evidence yet. That is a note, not a failure: the data is not in the repository.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { buildTool } from '../build-tool.mjs';
import { root } from '../checkout.mjs';

const { values, positionals } = parseArgs({
  options: { every: { type: 'string', default: '1' }, check: { type: 'boolean' } },
  allowPositionals: true,
});
const every = Number(values.every);
if ((values.check ? positionals.length > 0 : positionals.length === 0) || !Number.isInteger(every) || every < 1) {
  console.error('usage: npm run rules:evidence -- [--every N] FILE.jsonl[.gz]... | --check');
  process.exit(2);
}
const { checkCoreEvidence } = await import(pathToFileURL(await buildTool('src/rule-authoring/rule-evidence.ts')).href);
const { matchers, outdated } = checkCoreEvidence();
if (values.check) {
  for (const id of outdated) console.log(id);
  console.log(
    `${outdated.length} of ${Object.keys(matchers).length} rules have no evidence for their present patterns`,
  );
  process.exit();
}

const { createEngine } = await import('../../dist/index.js');
const engine = createEngine({ pack: join(root, 'rules', 'core'), mode: 'rules' });
const { rules_version } = engine.info;
const texts = { injection: 0, benign: 0 };
const files = [];
const rules = new Map(Object.entries(matchers).map(([id, matcher]) => [id, { matcher, attacks: 0, benign: 0 }]));
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
    for (const id of new Set([...findings, ...shadow].map(({ rule }) => rule)))
      rules.get(id)[label === 'benign' ? 'benign' : 'attacks'] += 1;
  }
}
const lines = [...rules]
  .sort(([a], [b]) => (a < b ? -1 : 1))
  .map(([id, counts]) => `    ${JSON.stringify(id)}: ${JSON.stringify(counts)}`);
const head = JSON.stringify(
  { rules_version, every, files, texts: { attacks: texts.injection, benign: texts.benign } },
  null,
  2,
);
writeFileSync(
  join(root, 'rules', 'EVIDENCE.json'),
  `${head.slice(0, -2)},\n  "hits": {\n${lines.join(',\n')}\n  }\n}\n`,
);
const matching = [...rules.values()].filter(({ attacks, benign }) => attacks + benign > 0).length;
console.log(`${matching} rules match at least one of ${texts.injection} attacks and ${texts.benign} benign texts`);
