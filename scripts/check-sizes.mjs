// No source file over 250 lines: a longer one is split by what it does. Data files are generated and exempt.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const most = 250;
const long = ['src', 'scripts', 'bench', 'test']
  .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)))
  .filter((file) => /\.m?tsx?$|\.mjs$/.test(file) && !/generated|fixtures|node_modules/.test(file))
  .map((file) => ({ file, lines: readFileSync(file, 'utf8').split('\n').length }))
  .filter(({ lines }) => lines > most);
for (const { file, lines } of long) console.error(`${file}: ${lines} lines, at most ${most}`);
process.exitCode = long.length > 0 ? 1 : 0;
