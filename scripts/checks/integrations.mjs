// Checks that every integration is in all lists that must know it: of the package, the documentation and the tests. It names
// everything that is missing at once.
import { existsSync, readdirSync, readFileSync } from 'node:fs';

const read = (file) => readFileSync(file, 'utf8');
const manifest = (file) => JSON.parse(read(file));

/** Tests with a row for every integration, and why an integration has none. */
const TESTS = {
  'test/hosts/adapters/conformance.test.ts': { http: 'the route says which texts are screened' },
  'test/hosts/adapters/examples.test.ts': {
    'claude-agent': 'its own test starts Claude Code',
    mcp: 'test/hosts/mcp starts servers',
  },
  'test/hosts/answers.test.ts': {
    'claude-agent': 'Claude Code has no hook for what it writes',
    http: 'a route has no model',
    mcp: 'a server has no model',
  },
  'test/hosts/streamed-answers.test.ts': {
    'claude-agent': 'Claude Code has no hook for what it writes',
    http: 'a route has no model',
    langchain: 'tokens are emitted inside the model',
    mcp: 'a server has no model',
  },
  'test/hosts/thoughts.test.ts': {
    'claude-agent': 'Claude Code has no hook for what it thinks',
    http: 'a route has no model',
    mcp: 'a server has no model',
  },
  'test/policy/run/hosts.test.ts': {
    http: 'a request is no run',
    mcp: 'test/mcp has its runs',
  },
};
/** Integrations whose scenarios are not in the table of docs/hosts/README.md. */
const WITHOUT_MATRIX = ['mcp'];
/** Packages of test/hosts/oldest that no integration supports: they belong to a host, or to the tests. */
const NO_HOSTS = ['@langchain/core', 'zod'];

const { exports, peerDependencies, peerDependenciesMeta } = manifest('package.json');
const names = readdirSync('src/integrations').filter((name) => existsSync(`src/integrations/${name}/index.ts`));
const problems = [];

/** Whether a test imports the integration, its example, or its `NAME-agent.ts`. */
const imports = (file, name) => new RegExp(`from '[^']*/${name}(/[\\w/-]+|-agent)?\\.js'`).test(read(file));

for (const name of names) {
  const need = (isThere, what) => isThere || problems.push(`${name}: ${what}`);
  const page = `docs/hosts/${name}.md`;
  need(exports[`./${name}`]?.default === `./dist/${name}.js`, `package.json: \`exports\` lacks "./${name}"`);
  need(
    existsSync(page) && read(page).includes(`portcullis/${name}`),
    `${page} is missing, or doesn't name portcullis/${name}`,
  );
  need(read('README.md').includes(`(${page}`), `README.md doesn't link to ${page}`);
  need(read('docs/hosts/README.md').includes(`(${name}.md`), `docs/hosts/README.md doesn't link to ${name}.md`);
  need(read('site/sidebar.mjs').includes(`'/hosts/${name}'`), `site/sidebar.mjs lacks '/hosts/${name}'`);
  const example = `test/hosts/adapters/examples/${name}.ts`;
  need(existsSync(example), `${example} is missing`);
  const test = `test/hosts/adapters/${name}.test.ts`;
  const hasMatrix = existsSync(test) && read(test).includes('matrix(');
  need(hasMatrix || WITHOUT_MATRIX.includes(name), `${test} is missing, or doesn't call matrix()`);
  for (const [file, without] of Object.entries(TESTS))
    need(
      imports(file, name) || name in without,
      `${file} has no row for it; if it can't have one, say why in scripts/checks/integrations.mjs`,
    );
}

const newest = manifest('test/hosts/package.json').dependencies;
for (const [name, version] of Object.entries(manifest('test/hosts/oldest/package.json').dependencies)) {
  if (version.startsWith('npm:') || NO_HOSTS.includes(name)) continue;
  if (!(name in newest)) problems.push(`${name}: test/hosts/package.json lacks its newest version`);
  if (!(name in peerDependencies) || !peerDependenciesMeta[name]?.optional)
    problems.push(`${name}: package.json lacks it in \`peerDependencies\`, or as optional in \`peerDependenciesMeta\``);
}

for (const problem of problems) console.error(problem);
console.log(`integrations: ${names.length} read, ${problems.length} problems`);
process.exitCode = problems.length > 0 || names.length === 0 ? 1 : 0;
