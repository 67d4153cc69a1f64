// `npm run digest -- FILE...`: one SHA-256 over what the rules say of every text of labelled JSONL files (gzip or plain):
// verdict, rule, score and the explanation with every finding and span. Equal digests before and after a change mean equal verdicts.
// `--web` asks the build for browsers (`portcullis/web`) instead of the native one: the digests must be equal.
// `--every N` takes each N-th text; `--lines FILE` writes a line per text, to compare two runs with diff.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';

const { values, positionals } = parseArgs({
  options: { every: { type: 'string', default: '1' }, lines: { type: 'string' }, web: { type: 'boolean' } },
  allowPositionals: true,
});
const every = Number(values.every);
if (positionals.length === 0 || !Number.isInteger(every) || every < 1) {
  console.error('usage: npm run digest -- [--every N] [--lines FILE] [--web] FILE.jsonl[.gz]...');
  process.exit(2);
}
const makeEngine = async () => {
  if (!values.web) return (await import('../../dist/index.js')).createEngine({ mode: 'rules' });
  const { createEngine, loadPack } = await import('../../dist/web/index.js');
  return createEngine({ pack: await loadPack(readFileSync(new URL('../../dist/web/core-pack.gz', import.meta.url))) });
};
const engine = await makeEngine();
const total = createHash('sha256');
const lines = [];
let count = 0;
for (const file of positionals) {
  const bytes = readFileSync(file);
  const rows = (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8').split('\n');
  for (const [index, row] of rows.entries()) {
    if (row === '' || index % every !== 0) continue;
    const { text } = JSON.parse(row);
    const { verdict, rule, score, explanation } = engine.scan(text, { explain: true });
    const findings = (explanation.findings ?? []).map(({ rule: id, spans, span, score: weight }) => [
      id,
      spans ?? span,
      weight,
    ]);
    const line = JSON.stringify([verdict, rule, score, findings]);
    total.update(line);
    if (values.lines) lines.push(`${file}:${index} ${line}`);
    count += 1;
  }
}
if (values.lines) writeFileSync(values.lines, `${lines.join('\n')}\n`);
console.log(`${count} texts  ${total.digest('hex')}  ${engine.info.rules_version}`);
