// Writes the page of error codes from the code: those of error classes, those of HTTP responses, and the problems of a pack.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

const source = join(import.meta.dirname, '..', 'src');
const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.startsWith(join('dashboard', 'web')))
  .sort()
  .map((name) => ts.createSourceFile(name, readFileSync(join(source, name), 'utf8'), ts.ScriptTarget.Latest, true));
const PROBLEM = /^PACK\d{3}$/;

const plain = (text) => text.replace(/^[\s*]+|\s*\n\s*\*?\s*/g, ' ').trim();
const cell = (text) =>
  text
    .replaceAll('|', '\\|')
    .replaceAll('<', '&lt;')
    .replace(/[{}]/g, (it) => `&#${it.charCodeAt(0)};`);
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const comment = (node) =>
  plain(
    ts
      .getJSDocCommentsAndTags(node)
      .filter(ts.isJSDoc)
      .map((it) => ts.getTextOfJSDocComment(it.comment) ?? '')
      .join(' '),
  );

function* nodes(node) {
  yield node;
  for (const child of node.getChildren()) yield* nodes(child);
}

/** Codes of a union with the comment before each. */
const membersOf = (text) =>
  [...text.matchAll(/(?:\/\*\*([^/]*)\*\/\s*)?\|?\s*'([A-Z_]+)'/g)].map(([, said = '', code]) => ({
    code,
    meaning: plain(said),
  }));

/** The texts that an expression may be; `…` stands for what is put in. */
function texts(node) {
  if (node === undefined) return [];
  if (ts.isStringLiteralLike(node)) return [node.text];
  if (ts.isTemplateExpression(node))
    return [node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join('')];
  if (ts.isConditionalExpression(node)) return [...texts(node.whenTrue), ...texts(node.whenFalse)];
  return ts.isIdentifier(node) ? named(node) : [];
}

/** What a name stands for: a constant of the same function, or what calls in the file give for a parameter. */
function named({ text, parent }) {
  for (let at = parent; at !== undefined; at = at.parent) {
    const declarations = (at.statements ?? [])
      .filter(ts.isVariableStatement)
      .flatMap((it) => [...it.declarationList.declarations]);
    const constant = declarations.find(({ name }) => name.getText() === text);
    if (constant !== undefined) return texts(constant.initializer);
    const index = (at.parameters ?? []).findIndex(({ name }) => name.getText() === text);
    if (index >= 0) return given(at, index);
  }
  return [];
}

/** What the calls of a function in its file give for one parameter; of those with at most `most` arguments. */
function given(declaration, index, most = Number.POSITIVE_INFINITY) {
  const name = (declaration.name ?? declaration.parent.name)?.getText();
  return [...nodes(declaration.getSourceFile())]
    .filter((it) => ts.isCallExpression(it) && it.expression.getText() === name && it.arguments.length <= most)
    .flatMap((it) => texts(it.arguments[index]));
}

/** The messages beside a code: in the same object, the next argument, or those of a function that has the code by default. */
function messages(literal) {
  const { parent } = literal;
  if (ts.isPropertyAssignment(parent)) {
    const message = parent.parent.properties.find(({ name }) => name?.getText() === 'message');
    return texts(message?.initializer ?? message?.name);
  }
  if (ts.isCallExpression(parent)) {
    const rest = parent.arguments.slice(parent.arguments.indexOf(literal) + 1);
    return rest.length > 0 ? texts(rest[0]) : texts(parent.arguments[0]);
  }
  if (ts.isParameter(parent)) return given(parent.parent, 0, parent.parent.parameters.indexOf(parent));
  return [];
}

const unions = new Map();
const classes = [];
const problems = new Map();
for (const file of files)
  for (const node of nodes(file)) {
    if (ts.isTypeAliasDeclaration(node) && /(Error|Quota)Code$/.test(node.name.text))
      unions.set(node.name.text, membersOf(node.type.getFullText()));
    if (ts.isClassDeclaration(node) && node.heritageClauses !== undefined) {
      const code = node.members.find((it) => ts.isPropertyDeclaration(it) && it.name.getText() === 'code');
      if (code !== undefined && !code.modifiers?.some((it) => it.kind === ts.SyntaxKind.AbstractKeyword))
        classes.push({ node, code });
    }
    if (ts.isStringLiteral(node) && PROBLEM.test(node.text))
      problems.set(node.text, [...(problems.get(node.text) ?? []), ...messages(node)]);
  }

const table = (rows, heads = ['Code', 'Meaning']) =>
  [`| ${heads.join(' | ')} |`, '| - | - |', ...rows.map(([code, said]) => `| \`${code}\` | ${said} |`)].join('\n');

/** Codes of a class with their meaning: of a named union, from the comment of the member, or the class's own. */
function codesOf({ node, code }) {
  const type = code.type?.getText() ?? '';
  const named = type.split(/\s*\|\s*/).flatMap((name) => unions.get(name) ?? []);
  const own = membersOf(type || (code.initializer?.getText() ?? ''));
  const said = new Map(
    [...comment(code).matchAll(/`([A-Z_]+)`: (.*?)(?=`[A-Z_]+`:|$)/gs)].map(([, name, text]) => [name, text.trim()]),
  );
  const meaning = ({ code }) => said.get(code) ?? (own.length === 1 ? comment(node) : '');
  return [...named, ...own.map((it) => ({ ...it, meaning: meaning(it) }))];
}

const faults = [];
const sections = classes
  .map((it) => ({ name: it.node.name.text, doc: comment(it.node), codes: codesOf(it) }))
  .filter(({ codes }) => codes.length > 0)
  .sort((a, b) => a.name.localeCompare(b.name))
  .map(({ name, doc, codes }) => {
    for (const { code, meaning } of codes) if (meaning === '') faults.push(`${name}: ${code} has no comment`);
    const rows = codes.map(({ code, meaning }) => [code, cell(capital(meaning))]);
    return `## ${name}\n\n${codes.length === 1 ? '' : `${cell(doc)}\n\n`}${table(rows)}\n`;
  });
const MOST = 6;
const rows = [...problems].sort().map(([code, said]) => {
  const distinct = [...new Set(said)];
  if (distinct.length === 0) faults.push(`${code} has no message that can be read from the code`);
  const more = distinct.length > MOST ? [`and ${distinct.length - MOST} more`] : [];
  return [code, [...distinct.slice(0, MOST).map(cell), ...more].join('<br>')];
});

writeFileSync(
  join(import.meta.dirname, 'errors.md'),
  `# Error codes

Every error that the library throws on purpose has a \`code\` that never changes its meaning within 1.x. Messages and codes never quote the
text that was screened. This page is made from the code. \`analyze\` itself never rejects because of what a text says or what a model
does: the verdict then says \`ml-error-rules-fallback\`, and the explanation has the model's code ([the verdict](/docs/verdict.md)).

The service responds with \`{ "error": "…" }\` and an HTTP status; a response 402 or 429 has a \`code\` too: \`TRIAL_ENDED\` or
\`MONTHLY_LIMIT_REACHED\`, as in [ScreeningError](#screeningerror).

${sections.join('\n')}
## Problems of a pack

A \`PackError\` and \`portcullis rules lint\` list every problem with its code, the line, and what to write instead.

${table(rows, ['Code', 'Messages (… stands for what is put in)'])}
`,
);
for (const fault of faults) console.error(`errors.mjs: ${fault}`);
console.log(`errors: ${sections.length} classes, ${problems.size} problems of a pack`);
process.exitCode = faults.length > 0 || sections.length < 10 || problems.size < 30 ? 1 : 0;
