import { existsSync } from 'node:fs';
import { defineConfig } from 'tsdown';

/** Every file of `dist` that something outside imports, starts or forks by name. */
const entries = {
  index: 'src/index.ts',
  client: 'src/client.ts',
  'cli/main': 'src/cli/main.ts',
  'adapters/transformers-classifier': 'src/adapters/model/transformers-classifier.ts',
  'model-worker': 'src/adapters/model/model-worker.ts',
  'batch/score-stream': 'src/batch/score-stream.ts',
  'workers/engine-pool': 'src/workers/engine-pool.ts',
  'engine-worker': 'src/workers/engine-worker.ts',
  'store-writer': 'src/store/embedded/store-writer.ts',
  'batch-child': 'src/batch/batch-child.ts',
  'tuning-rules-child': 'src/evaluation/scoring/rules-child.ts',
};

export default defineConfig({
  entry: Object.fromEntries(Object.entries(entries).filter(([, file]) => existsSync(file))),
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  fixedExtension: false,
  dts: true,
  hash: true,
  clean: true,
  sourcemap: false,
  tsconfig: 'src/tsconfig.json',
  report: false,
});
