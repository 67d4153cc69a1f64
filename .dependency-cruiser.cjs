/** The arrows of docs/architecture.md: cli -> adapters -> engine; in the engine engine -> rules, model -> text -> span. */
const engineOnly = '^src/engine/';

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-circular',
      comment: 'Types may name one another; modules that run may not need one another.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    { name: 'no-unresolved', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'engine-is-pure',
      comment: 'The engine imports itself, zod and entities (pure data and code), and never Node.',
      severity: 'error',
      from: { path: engineOnly },
      to: { pathNot: [engineOnly, '(^|/)node_modules/(zod|entities)/'] },
    },
    {
      name: 'adapters-know-the-engine-only',
      severity: 'error',
      from: { path: '^src/adapters/' },
      to: { path: '^src/', pathNot: ['^src/adapters/', engineOnly] },
    },
    {
      name: 'evidence-knows-the-engine-only',
      comment:
        'Records, masking and replay are asked by the store, the service and the dashboard; they ask none of them.',
      severity: 'error',
      from: { path: '^src/evidence/' },
      to: { path: '^src/', pathNot: ['^src/(evidence|adapters|engine|workers)/', '^src/create-engine\\.ts$'] },
    },
    {
      name: 'store-knows-evidence-and-the-engine',
      comment: 'And where the program of its thread lies.',
      severity: 'error',
      from: { path: '^src/store/' },
      to: { path: '^src/', pathNot: ['^src/(store|evidence|engine)/', '^src/adapters/child-program\\.ts$'] },
    },
    {
      name: 'databases-stay-behind-the-port',
      comment: 'Others see the port (src/store/*.ts); SQL and the two databases are reached through openStore alone.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/store/' },
      to: { path: '^src/store/(sql|embedded|postgres)/' },
    },
    {
      name: 'nothing-imports-the-cli',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/cli/' },
      to: { path: '^src/cli/' },
    },
    {
      name: 'workers-know-the-library-only',
      severity: 'error',
      from: { path: '^src/workers/' },
      to: { path: '^src/', pathNot: ['^src/(workers|adapters|engine)/', '^src/(index|create-engine)\\.ts$'] },
    },
    {
      name: 'batch-knows-workers-and-the-library',
      severity: 'error',
      from: { path: '^src/batch/' },
      to: { path: '^src/', pathNot: ['^src/(batch|workers|adapters|engine)/', '^src/(index|create-engine)\\.ts$'] },
    },
    {
      name: 'evaluation-knows-the-library-only',
      comment: 'And how batch reads files of rows.',
      severity: 'error',
      from: { path: '^src/evaluation/' },
      to: { path: '^src/', pathNot: ['^src/(evaluation|batch|adapters|engine)/', '^src/(create-engine|index)\\.ts$'] },
    },
    {
      name: 'rule-authoring-knows-evaluation-and-the-library',
      severity: 'error',
      from: { path: '^src/rule-authoring/' },
      to: { path: '^src/', pathNot: ['^src/(rule-authoring|evaluation|adapters|engine)/'] },
    },
    {
      name: 'tuning-knows-evaluation-and-the-library',
      severity: 'error',
      from: { path: '^src/tuning/' },
      to: {
        path: '^src/',
        pathNot: ['^src/(tuning|evaluation|adapters|engine)/', '^src/(create-engine|index)\\.ts$'],
      },
    },
    {
      name: 'service-knows-store-evidence-workers-and-the-library',
      severity: 'error',
      from: { path: '^src/service/' },
      to: {
        path: '^src/',
        pathNot: [
          '^src/(service|dashboard|store|evidence|workers|adapters|engine)/',
          '^src/(index|create-engine)\\.ts$',
        ],
      },
    },
    {
      name: 'client-knows-types-only',
      severity: 'error',
      from: { path: '^src/client\\.ts$' },
      to: { path: '^src/', pathNot: '^src/engine/verdict\\.ts$' },
    },
    {
      name: 'dashboard-knows-the-store-and-the-library',
      severity: 'error',
      from: { path: '^src/dashboard/' },
      to: {
        path: '^src/',
        pathNot: ['^src/(dashboard|store|evidence|adapters|engine)/', '^src/(index|create-engine)\\.ts$'],
      },
    },
    {
      name: 'the-page-knows-types-alone',
      comment: 'What runs in the browser imports itself and its two libraries; of the rest only types.',
      severity: 'error',
      from: { path: '^src/dashboard/web/' },
      to: {
        pathNot: ['^src/dashboard/web/', '(^|/)node_modules/(preact|uplot|vite)/'],
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'rules-never-import-the-model',
      severity: 'error',
      from: { path: '^src/engine/rules/' },
      to: {
        path: engineOnly,
        pathNot: ['^src/engine/(rules|text)/', '^src/engine/(span|ports|limits|errors|channel)\\.ts$'],
      },
    },
    {
      name: 'model-knows-text-and-ports',
      severity: 'error',
      from: { path: '^src/engine/model/' },
      to: { path: engineOnly, pathNot: ['^src/engine/(model|text)/', '^src/engine/(span|ports|limits|errors)\\.ts$'] },
    },
    {
      name: 'text-knows-spans-only',
      severity: 'error',
      from: { path: '^src/engine/text/' },
      to: { path: engineOnly, pathNot: ['^src/engine/text/', '^src/engine/(span|limits)\\.ts$'] },
    },
    {
      name: 'span-and-ports-know-nothing',
      severity: 'error',
      from: { path: '^src/engine/(span|ports)\\.ts$' },
      to: { path: engineOnly, pathNot: '^src/engine/span\\.ts$' },
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
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['npm-peer', 'npm'], pathNot: 'node_modules/@types/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'types', 'node', 'default'] },
  },
};
