// Checks .github: workflows by actionlint and zizmor, issue forms by what GitHub takes, and that the scripts they run exist.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { root } from '../checkout.mjs';
import { actionlint, pythonLinter } from './linters.mjs';

const problems = [];
const workflows = readdirSync(join(root, '.github', 'workflows')).map((name) => join('.github', 'workflows', name));
if (workflows.length < 5) problems.push(`${workflows.length} workflows`);
// Offline: a check asks no server. --pedantic finds permissions without a reason, and more.
const found = [
  await actionlint('.github/workflows/*.yml'),
  await pythonLinter('zizmor', ['--offline', '--pedantic', '--quiet', '.github']),
];
problems.push(...found.filter((one) => one !== undefined));

const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
for (const file of workflows) {
  const text = readFileSync(join(root, file), 'utf8');
  for (const [, name] of text.matchAll(/npm run ([\w:-]+)/g))
    if (!(name in scripts)) problems.push(`${file}: there is no script ${name}`);
  for (const [, path] of text.matchAll(/\b((?:test|scripts)\/[\w./-]+)/g))
    if (!existsSync(join(root, path))) problems.push(`${file}: there is no ${path}`);
}

const INPUTS = ['input', 'textarea', 'dropdown', 'checkboxes'];
const forms = readdirSync(join(root, '.github', 'ISSUE_TEMPLATE')).filter((name) => name !== 'config.yml');
if (forms.length === 0) problems.push('no issue forms');
for (const name of forms) {
  const form = parse(readFileSync(join(root, '.github', 'ISSUE_TEMPLATE', name), 'utf8'));
  const inputs = form.body.filter(({ type }) => type !== 'markdown');
  const ids = inputs.map(({ id }) => id);
  if (!form.name || !form.description || inputs.length === 0)
    problems.push(`${name}: name, description or inputs are missing`);
  if (new Set(ids).size !== ids.length || ids.includes(undefined))
    problems.push(`${name}: ids are missing or used twice`);
  for (const { type, id, attributes } of inputs)
    if (!INPUTS.includes(type) || !attributes?.label) problems.push(`${name}: ${id} has an unknown type or no label`);
}
for (const problem of problems) console.error(problem);
console.log(`workflows: ${workflows.length} workflows, ${forms.length} issue forms, ${problems.length} problems`);
process.exitCode = problems.length > 0 ? 1 : 0;
