import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { defineConfig } from 'tsdown';

/** Every file of `dist` that something outside imports, starts or forks by name. */
const entries = {
  index: 'src/index.ts',
  client: 'src/client.ts',
  'cli/main': 'src/cli/main.ts',
  'adapters/transformers-classifier': 'src/adapters/model/transformers-classifier.ts',
  policy: 'src/policy/index.ts',
  opentelemetry: 'src/opentelemetry.ts',
  ...Object.fromEntries(readdirSync('src/integrations').map((name) => [name, `src/integrations/${name}/index.ts`])),
  'model-worker': 'src/adapters/model/model-worker.ts',
  'batch/score-stream': 'src/batch/score-stream.ts',
  'workers/engine-pool': 'src/workers/engine-pool.ts',
  'engine-worker': 'src/workers/engine-worker.ts',
  'service-process': 'src/service/service-process.ts',
  'long-text-worker': 'src/service/long-texts/long-text-worker.ts',
  'store-writer': 'src/store/embedded/store-writer.ts',
  'batch-child': 'src/batch/batch-child.ts',
  'tuning-rules-child': 'src/evaluation/scoring/rules-child.ts',
};

const { builtIn } = JSON.parse(readFileSync('scripts/layers.json', 'utf8')) as { readonly builtIn: readonly string[] };
const isBuiltIn = (id: string): boolean => builtIn.some((name) => id === name || id.startsWith(`${name}/`));

const shared = {
  format: 'esm',
  target: 'node20.19',
  fixedExtension: false,
  dts: true,
  clean: true,
  sourcemap: false,
  report: false,
  // Where node_modules is a link, files keep the names that they have in a checkout of its own.
  inputOptions: { resolve: { symlinks: false } },
} as const;

export default defineConfig([
  {
    ...shared,
    entry: Object.fromEntries(Object.entries(entries).filter(([, file]) => existsSync(file))),
    platform: 'node',
    // Packages of a hundred files and more: built in, a start of the service takes 0.1 s less CPU time. Their types stay
    // those of the packages. The type provider shares zod with our code; @fastify/error is
    // what it imports.
    deps: { alwaysBundle: (id, importer) => isBuiltIn(id) && !importer?.endsWith('.d.ts') },
    outputOptions: { comments: { jsdoc: false } },
    hash: true,
    tsconfig: 'src/tsconfig.json',
  },
  // On its own, so that it shares no file with code that needs Node.
  {
    ...shared,
    entry: { index: 'src/web/index.ts' },
    outDir: 'dist/web',
    platform: 'neutral',
    target: 'es2023',
    hash: false,
    tsconfig: 'src/web/tsconfig.json',
  },
]);
