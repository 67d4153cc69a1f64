// Checks that a function outside the dashboard's pages has at most 60 lines, or a comment `// Long: why` above it, which functions inside it share.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

const MOST_LINES = 60;
const MOST_EXCEPTIONS = 15;
const PAGES = 'src/dashboard/web/pages/';

const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .map((name) => join('src', name).replaceAll('\\', '/'))
  .filter((name) => /\.tsx?$/.test(name) && !name.startsWith(PAGES));
let counted = 0;
let exceptions = 0;
const problems = [];

for (const name of sources) {
  const text = readFileSync(name, 'utf8');
  const lines = text.split('\n');
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  const lineAt = (position) => file.getLineAndCharacterOfPosition(position).line;
  const visit = (node) => {
    if (ts.isFunctionLike(node) && node.body) {
      counted += 1;
      const first = lineAt(node.getStart());
      const length = lineAt(node.end) - first + 1;
      if (length > MOST_LINES) {
        if (/^\s*\/\/ Long: \S/.test(lines[first - 1] ?? '')) {
          exceptions += 1;
          return;
        }
        problems.push(
          `${name}:${first + 1}: a function of ${length} lines: split it by idea, or say why not ("// Long: …")`,
        );
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
}
if (exceptions > MOST_EXCEPTIONS)
  problems.push(`${exceptions} functions are longer than ${MOST_LINES} lines: at most ${MOST_EXCEPTIONS} may be`);
// A check that read nothing is green too.
if (counted < sources.length) problems.push(`only ${counted} functions found in ${sources.length} files`);
for (const problem of problems) console.error(problem);
console.log(`functions: ${counted}, ${exceptions} longer than ${MOST_LINES} lines with a reason`);
process.exitCode = problems.length > 0 ? 1 : 0;
