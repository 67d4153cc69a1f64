// Checks that nothing we write installs or runs a package of ours from a registry on which we don't hold its name: whoever
// registers it would run code on the machines of our readers. Reads every file that git tracks, or those named as arguments.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';

/** Names that we hold on a registry (npm, PyPI). Add one once it is published, or reserved for a release. */
const HELD = new Set(JSON.parse(readFileSync(new URL('held-names.json', import.meta.url), 'utf8')));
const OURS = /^@?portcullis([-/_.][\w.-]+)*$/i;

/** Commands that run the package named first, and such that install all that are named. */
const RUNS = ['npx', 'pnpx', 'bunx', 'uvx', 'npm (?:exec|x|create|init)', '(?:pnpm|yarn) dlx', 'bun x', 'pipx run'];
const INSTALLS = [
  'npm (?:install|i|add|ci)',
  '(?:pnpm|yarn|bun|uv|poetry|deno|pdm|pip3?|pipx|uv pip|uv tool|yarn global) (?:add|install|i)',
];
const COMMAND = new RegExp(
  String.raw`\b(?:(?<run>${RUNS.join('|')})|${INSTALLS.join('|')})\b`.replaceAll(' ', '["\'\\s,]+') +
    String.raw`(?=(?<rest>[ \t"'\`,\[\]][^\n;&|#)]*))`,
  'g',
);
const ADDRESS =
  /(?:esm\.sh\/|unpkg\.com\/|cdn\.jsdelivr\.net\/npm\/|cdn\.skypack\.dev\/|registry\.npmjs\.org\/|npmjs\.com\/package\/|pypi\.org\/project\/|\bnpm:)(?<name>@?[\w.-]+)/g;

const withoutVersion = (word) => word.replace(/(?<=.)@[^/]*$|\[.*|[=<>~!].*/g, '');
const isForeign = (name) => OURS.test(name) && !HELD.has(name);

/** The unheld name that a command would fetch. `npx --no-install` fetches nothing. */
const fetched = (isRun, rest) => {
  // A closing backtick ends the command in prose; JSON and code have its words in quotes.
  const words = rest
    .replace(/^([\s"',[\]:]*)`/, '$1')
    .split('`')[0]
    .split(/[\s"',]+/)
    .map((word) => word.replace(/^[[({]+|[\])}.:]+$/g, ''))
    .filter((word) => word !== '' && word !== 'args');
  if (isRun && words.includes('--no-install')) return undefined;
  const named = words.flatMap((word) =>
    word.startsWith('--package=') ? [word.slice(10)] : word.startsWith('-') ? [] : [word],
  );
  // Flags may take a value: the first three words stand for "the first".
  return (isRun ? named.slice(0, 3) : named).map(withoutVersion).find((name) => isForeign(name));
};

const problems = [];
const report = (file, text, index, what) =>
  problems.push(`${file}:${text.slice(0, index).split('\n').length}: ${what}, a name that we don't hold on a registry`);

function checkText(file, text) {
  // A command may go on in the next line: of a shell after a backslash, of JSON or code after a comma or a bracket.
  const joined = text.replace(
    /(\\|[,[])\n\s*/g,
    (gap) => `${gap[0] === '\\' ? ' ' : gap[0]}${' '.repeat(gap.length - 1)}`,
  );
  for (const { index, groups } of joined.matchAll(COMMAND)) {
    const name = fetched(groups.run !== undefined, groups.rest);
    if (name !== undefined) report(file, text, index, `fetches ${name}`);
  }
  for (const { index, groups } of text.matchAll(ADDRESS))
    if (isForeign(groups.name)) report(file, text, index, `links to ${groups.name}`);
}

function checkManifest(file, text) {
  const { dependencies, devDependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } =
    JSON.parse(text);
  const peers = Object.entries(peerDependencies ?? {}).filter(([name]) => !peerDependenciesMeta?.[name]?.optional);
  const all = { ...dependencies, ...devDependencies, ...optionalDependencies, ...Object.fromEntries(peers) };
  for (const [name, version] of Object.entries(all))
    if (isForeign(name) && !/^(file|link|workspace):/.test(version))
      report(file, text, text.indexOf(name), `depends on ${name}`);
}

const named = process.argv.slice(2);
const tracked = () => spawnSync('git', ['ls-files', '-z'], { encoding: 'utf8', maxBuffer: 1 << 26 }).stdout.split('\0');
const files = (named.length > 0 ? named : tracked()).filter(
  (name) => name !== '' && !/\.(png|gz|bin|onnx|woff2|zst|parquet)$/.test(name),
);
for (const file of files) {
  const text = readFileSync(file, 'utf8');
  checkText(file, text);
  if (basename(file) === 'package.json') checkManifest(file, text);
}
for (const problem of problems) console.error(problem);
console.log(`names: ${files.length} files read, ${HELD.size} names held, ${problems.length} problems`);
process.exitCode = problems.length > 0 || files.length === 0 ? 1 : 0;
