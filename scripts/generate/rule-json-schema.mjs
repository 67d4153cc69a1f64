// Writes rules/schema.json, which editors use for rule files, from the very schema that reads them.
// -- --check: fails when the file is not what would be written.
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { buildTool } from '../build-tool.mjs';

const TARGET = 'rules/schema.json';
const { ruleSchema } = await import(pathToFileURL(await buildTool('src/engine/rules/pack/rule-schema.ts')).href);
const schema = z.toJSONSchema(ruleSchema, { io: 'input', unrepresentable: 'any' });
const text = `${JSON.stringify({ ...schema, title: 'A rule of Portcullis' }, null, 2)}\n`;

if (!process.argv.includes('--check')) writeFileSync(TARGET, text);
else if (readFileSync(TARGET, 'utf8') !== text) {
  console.error(`${TARGET} is out of date: node scripts/generate/rule-json-schema.mjs`);
  process.exitCode = 1;
}
