import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const PROGRAM =
  "import('./scripts/build-tool.mjs').then((it) => it.buildTool('test/store/load/main.ts')).then((file) => console.log(file))";

let built: string | undefined;

/** The program of `main.ts` in JavaScript: tests run from the sources, but another process can't. */
export function builtLoad(): string {
  built ??= execFileSync(process.execPath, ['-e', PROGRAM], { cwd: root, encoding: 'utf8' }).trim().split('\n').at(-1);
  if (built === undefined) throw new Error('the load program was not built');
  return built;
}
