/** The arrows between the parts of `src`, as scripts/layers.json names them, and what holds for single places. */
const { readFileSync } = require('node:fs');

const { layers, builtIn } = JSON.parse(readFileSync(`${__dirname}/scripts/layers.json`, 'utf8'));

/** Matches a part: a folder, or a file without its extension. */
const within = (part) => `^src/${part}(/|\\.tsx?$)`;

const arrows = layers
  .filter(({ imports }) => !imports.includes('*'))
  .map(({ part, imports }) => ({
    name: `${part.replaceAll('/', '-')}-imports`,
    severity: 'error',
    from: { path: within(part) },
    to: { path: '^src/', pathNot: [within(part), ...imports.map(within)] },
  }));

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...arrows,
    {
      name: 'no-circular',
      comment: 'Types count, too: what two modules name belongs to one of them, or to a third.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'index-is-for-users',
      comment: 'Within src a module imports what it needs from where it is defined.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^src/index.ts$' },
    },
    { name: 'no-unresolved', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'engine-is-pure',
      comment: 'Of packages the engine imports zod and entities (pure code and data), and never Node.',
      severity: 'error',
      from: { path: '^src/engine/' },
      to: { pathNot: ['^src/', '(^|/)node_modules/(zod|entities)/'] },
    },
    {
      name: 'databases-stay-behind-the-port',
      comment: 'Others see the port (src/store/*.ts); SQL and the two databases are reached through openStore alone.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/store/' },
      to: { path: '^src/store/[^/]+/' },
    },
    {
      name: 'the-page-knows-types-alone',
      comment:
        'What runs in the browser imports itself, its two libraries, the words for a chain, the arithmetic of spans and the policy of flows; of the rest only types.',
      severity: 'error',
      from: { path: '^src/dashboard/web/' },
      to: {
        pathNot: [
          '^src/dashboard/web/',
          '^src/engine/span.ts$',
          '^src/engine/text/chain-words.ts$',
          '^src/policy/run/written-policy.ts$',
          '(^|/)node_modules/(preact|uplot|vite)/',
        ],
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'integrations-import-no-host',
      comment: 'A host’s types are met by shape, so that no framework is needed to import an integration.',
      severity: 'error',
      from: { path: '^src/integrations/' },
      to: {
        pathNot: ['^src/', '(^|/)node_modules/(jsonc-parser|lru-cache|zod)/'],
        dependencyTypesNot: ['core', 'type-only'],
      },
    },
    {
      name: 'src-never-imports-tests',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|bench|scripts)/' },
    },
    {
      name: 'no-dev-dependencies-in-src',
      severity: 'error',
      // The page is built into dist: what it needs is in its bundle.
      from: { path: '^src/', pathNot: '^src/dashboard/web/' },
      to: {
        dependencyTypes: ['npm-dev'],
        dependencyTypesNot: ['npm-peer', 'npm'],
        pathNot: `node_modules/(@types|${builtIn.join('|')})/`,
      },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'types', 'node', 'default'] },
  },
};
