import { existsSync } from 'node:fs';
import { defineConfig } from 'tsdown';

/** Every file of `dist` that something outside imports or starts. */
const entries = {
  index: 'src/index.ts',
  transformers: 'src/transformers.ts',
  client: 'src/client.ts',
  'cli/main': 'src/cli/main.ts',
  'onnx-child': 'src/adapters/onnx-child.ts',
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
