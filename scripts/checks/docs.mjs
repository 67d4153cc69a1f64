// Checks that documents do not lie: every path, npm script, command and link that a document names must exist, and the table of
// parts in docs/architecture.md must be the one that the layer check enforces. `--write` renews that table.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

const { layers } = JSON.parse(readFileSync('scripts/layers.json', 'utf8'));

const documents = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.startsWith('decisions'))
    .map((name) => join('docs', name)),
];
const scripts = JSON.parse(readFileSync('package.json', 'utf8')).scripts;
const proofs = new Set(
  [...readFileSync('scripts/proof.mjs', 'utf8').matchAll(/^ {2}'?([a-z-]+)'?: \[/gm)].map((match) => match[1]),
);
const ROOTS = /^(src|test|docs|rules|models|bench|scripts|integrations|deploy|site|\.github)\//;
const PLACEHOLDER = /[*<>{}…]|\.\.\.|[A-Z]{3,}|\bN\b/;
const MARKS = ['<!-- parts -->', '<!-- end parts -->'];

const commandSources = readdirSync('src/cli', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => readFileSync(join('src/cli', name), 'utf8'))
  .join('\n');
const commands = new Set(
  [...commandSources.matchAll(/(?:command|new Command)\(\s*['"]([a-z-]+)/g)].map((match) => match[1]),
);

const table = [
  '| Part of `src` | What it is | May import |',
  '| - | - | - |',
  ...layers.map(({ part, what, imports }) => {
    const seen = imports.includes('*')
      ? 'everything'
      : imports.length > 0
        ? imports.map((name) => `\`${name}\``).join(', ')
        : '–';
    return `| \`${part}\` | ${what} | ${part === 'engine' ? 'its own parts' : seen} |`;
  }),
].join('\n');

const problems = [];
for (const file of documents) {
  const text = readFileSync(file, 'utf8');
  const line = (index) => text.slice(0, index).split('\n').length;
  const report = (index, what) => problems.push(`${file}:${line(index)}: ${what}`);
  for (const { 1: target, index } of text.matchAll(/\]\(([^)\s#]+)(?:#[^)]*)?\)/g)) {
    if (/^[a-z]+:/.test(target) || PLACEHOLDER.test(target)) continue;
    if (!existsSync(normalize(join(dirname(file), target)))) report(index, `link to ${target}, which does not exist`);
  }
  for (const { 1: code, index } of text.matchAll(/`([^`\n]+)`/g)) {
    const path = code.split(/[\s:#]/)[0];
    if (ROOTS.test(path) && !PLACEHOLDER.test(path) && !existsSync(path)) report(index, `path ${path} does not exist`);
  }
  for (const { 1: name, index } of text.matchAll(/npm run ([a-z][a-z:-]*)/g)) {
    if (!(name in scripts)) report(index, `\`npm run ${name}\` is not in package.json`);
  }
  for (const { 1: name, index } of text.matchAll(/npm run proof -- ([a-z-]+)/g)) {
    if (!proofs.has(name)) report(index, `\`npm run proof -- ${name}\` is not in scripts/proof.mjs`);
  }
  for (const { 1: name, index } of text.matchAll(/(?:npx |^|`)portcullis ([a-z][a-z-]+)/gm)) {
    if (!commands.has(name)) report(index, `\`portcullis ${name}\` is no command`);
  }
}

const architecture = readFileSync('docs/architecture.md', 'utf8');
const [start, end] = MARKS.map((mark) => architecture.indexOf(mark));
if (start < 0 || end < start) {
  problems.push(`docs/architecture.md: the marks ${MARKS.join(' and ')} are missing`);
} else {
  const renewed = `${architecture.slice(0, start + MARKS[0].length)}\n${table}\n${architecture.slice(end)}`;
  if (process.argv.includes('--write')) writeFileSync('docs/architecture.md', renewed);
  else if (renewed !== architecture)
    problems.push('docs/architecture.md: the table of parts is stale: node scripts/checks/docs.mjs --write');
}
for (const problem of problems) console.error(problem);
console.log(`documents: ${documents.length} read, ${commands.size} commands known, ${problems.length} problems`);
process.exitCode = problems.length > 0 ? 1 : 0;
