import { existsSync, readdirSync } from 'node:fs';
import { configDefaults, defineConfig } from 'vitest/config';

// In CI a skipped test is a failure, so what can't run in a checkout is left out here by name, with its reason.
const environment = process.env;
const hasModel =
  environment.PORTCULLIS_TEST_MODEL !== undefined ||
  readdirSync('models').some((name) => existsSync(`models/${name}/manifest.json`));
// Their packages are a workspace of its own, which `npm test` installs.
const hasHosts = existsSync('test/hosts/node_modules');
const leftOut = [
  ...(hasHosts ? [] : ['test/hosts/**']),
  ...(hasModel ? [] : ['test/model/shipped-model.test.ts', 'test/model/transformers/shipped-transformers.test.ts']),
];

// Compiling the core pack from its folder takes seconds in every file: while the bundle in dist is of these sources, it is read.
const { isCorePackBuilt } = (await import(new URL('scripts/checkout.mjs', import.meta.url).href)) as {
  isCorePackBuilt(): boolean;
};
const corePack = isCorePackBuilt()
  ? [{ find: /^\.\/core-pack-path\.js$/, replacement: `${import.meta.dirname}/test/core-pack-path.ts` }]
  : [];

export default defineConfig({
  // The hosts' examples import the package by its name, as the pages show them.
  resolve: {
    alias: [
      ...corePack,
      { find: /^portcullis$/, replacement: `${import.meta.dirname}/src/index.ts` },
      { find: /^portcullis\/policy$/, replacement: `${import.meta.dirname}/src/policy/index.ts` },
      { find: /^portcullis\/(client|opentelemetry)$/, replacement: `${import.meta.dirname}/src/$1.ts` },
      { find: /^portcullis\/(.+)$/, replacement: `${import.meta.dirname}/src/integrations/$1/index.ts` },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/own-temp-folder.ts', 'test/postgres/global-setup.ts'],
    exclude: [...configDefaults.exclude, ...leftOut],
    // For tests that hang: a busy machine takes several times as long as an idle one.
    testTimeout: 120_000,
    hookTimeout: 180_000,
    // Child processes of the model's tests need the second core.
    maxWorkers: 2,
    // Node loads what was built.
    server: { deps: { external: [/^(?!.*\/node_modules\/).*\/dist\//] } },
    expect: { requireAssertions: true },
    coverage: { provider: 'v8', include: ['src/**'] },
  },
});
