import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/** Values of a host's type with a text in one of their strings. */
export interface Shape {
  /** Where the text stands: names of members, and the words (`type`, `role`) of the objects on the way. */
  readonly name: string;
  make(text: string): unknown;
}

interface Built {
  /** The least value of the type; undefined where it has none. */
  readonly base: unknown;
  readonly shapes: readonly { readonly path: string; readonly make: (text: string) => unknown }[];
}

const folder = fileURLToPath(
  new URL(process.env.PORTCULLIS_HOSTS === 'oldest' ? '../oldest/' : '../', import.meta.url),
);
const NOTHING: Built = { base: undefined, shapes: [] };
const MAX_DEPTH = 9;

/**
 * Reads types from the declarations of the installed hosts: a shape for every string in every variant of them, with a text in
 * that string, and the rest as short as the type allows.
 *
 * @param types by name, as an import type, e.g. `import('openai').OpenAI.ChatCompletionTool`
 */
export function shapesOf<N extends string>(types: Readonly<Record<N, string>>): Record<N, Shape[]> {
  const file = join(folder, 'shapes-of-hosts.ts');
  const names = Object.keys(types) as N[];
  const source = names.map((name) => `export type ${name} = ${types[name]};`).join('\n');
  const options: ts.CompilerOptions = {
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    target: ts.ScriptTarget.ES2023,
    lib: ['lib.es2023.d.ts', 'lib.dom.d.ts'],
    strict: true,
    skipLibCheck: true,
    types: [],
  };
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (path) => path === file || fileExists(path);
  host.readFile = (path) => (path === file ? source : readFile(path));
  host.getSourceFile = (path, target, ...rest) =>
    path === file ? ts.createSourceFile(path, source, target) : getSourceFile(path, target, ...rest);
  const program = ts.createProgram([file], options, host);
  const checker = program.getTypeChecker();
  const root = program.getSourceFile(file);
  if (root === undefined) throw new Error('the types were not read');
  const [problem] = program.getSemanticDiagnostics(root);
  if (problem !== undefined) throw new Error(ts.flattenDiagnosticMessageText(problem.messageText, '\n'));
  const read = (name: N): Shape[] => {
    const alias = root.statements.filter(ts.isTypeAliasDeclaration).find((each) => each.name.text === name);
    if (alias === undefined) throw new Error(`${name} was not read`);
    const { shapes } = build(checker, checker.getTypeAtLocation(alias.name), []);
    const named = new Map(shapes.map(({ path, make }) => [path, make]));
    return [...named].map(([path, make]) => ({ name: `${name}${path}`, make }));
  };
  return Object.fromEntries(names.map((name) => [name, read(name)])) as Record<N, Shape[]>;
}

function build(checker: ts.TypeChecker, type: ts.Type, open: readonly ts.Type[]): Built {
  const text: Built = { base: 'word', shapes: [{ path: '', make: (given) => given }] };
  if (type.flags & ts.TypeFlags.Literal) return { base: literalOf(checker, type), shapes: [] };
  if (type.flags & (ts.TypeFlags.String | ts.TypeFlags.TemplateLiteral | ts.TypeFlags.StringMapping)) return text;
  if (type.flags & ts.TypeFlags.Number) return { base: 1, shapes: [] };
  if (type.flags & ts.TypeFlags.Boolean) return { base: true, shapes: [] };
  if (type.flags & ts.TypeFlags.Null) return { base: null, shapes: [] };
  if (type.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) {
    const inner = { path: '.any', make: (given: string) => ({ any: [{ nested: given }] }) };
    return { base: 'word', shapes: [...text.shapes, inner] };
  }
  if (type.isUnion()) {
    const members = type.types.map((member) => build(checker, member, open));
    const { base } = members.find((member) => member.base !== undefined && member.base !== null) ?? NOTHING;
    return { base, shapes: members.flatMap(({ shapes }) => shapes) };
  }
  if (type.isIntersection() && type.types.some(({ flags }) => flags & ts.TypeFlags.String)) return text;
  if (!(type.flags & ts.TypeFlags.Object || type.isIntersection())) return NOTHING;
  if (open.includes(type) || open.length > MAX_DEPTH) return NOTHING;
  return buildObject(checker, type, [...open, type]);
}

function buildObject(checker: ts.TypeChecker, type: ts.Type, open: readonly ts.Type[]): Built {
  const name = type.getSymbol()?.name ?? '';
  if (name === 'Uint8Array' || name === 'Buffer' || name === 'ArrayBuffer')
    return {
      base: Buffer.from('word'),
      shapes: [{ path: '<bytes>', make: (text) => new Uint8Array(Buffer.from(text)) }],
    };
  if (name === 'URL') return { base: new URL('https://host.test/'), shapes: [] };
  if (type.getCallSignatures().length > 0 || ['Date', 'Blob', 'File', 'ReadableStream', 'Promise'].includes(name))
    return NOTHING;
  if (checker.isArrayType(type) || checker.isTupleType(type)) {
    const [item] = checker.getTypeArguments(type as ts.TypeReference);
    const { base, shapes } = item === undefined ? NOTHING : build(checker, item, open);
    return {
      base: base === undefined ? [] : [base],
      shapes: shapes.map(({ path, make }) => ({ path: `[]${path}`, make: (text) => [make(text)] })),
    };
  }
  const index = type.getStringIndexType();
  const keyed = index === undefined ? NOTHING : build(checker, index, open);
  const members = checker.getPropertiesOfType(type).map((symbol) => ({
    name: symbol.name,
    isOptional: (symbol.flags & ts.SymbolFlags.Optional) !== 0,
    built: build(checker, checker.getTypeOfSymbol(symbol), open),
  }));
  const base = Object.fromEntries(
    members.flatMap(({ name: member, isOptional, built }) =>
      (isOptional && built.shapes.length > 0) || built.base === undefined ? [] : [[member, built.base]],
    ),
  );
  const word = ['role', 'type']
    .map((member) => base[member])
    .filter((each) => typeof each === 'string' && each !== 'word');
  const head = word.length > 0 ? `(${word.join(' ')})` : '';
  const shapes = members.flatMap(({ name: member, built }) =>
    built.shapes.map(({ path, make }) => ({
      path: `${head}.${member}${path}`,
      make: (text: string) => ({ ...base, [member]: make(text) }),
    })),
  );
  const others = keyed.shapes.map(({ path, make }) => ({
    path: `${head}.*${path}`,
    make: (text: string) => ({ ...base, any: make(text) }),
  }));
  return { base, shapes: [...shapes, ...others] };
}

function literalOf(checker: ts.TypeChecker, type: ts.Type): unknown {
  if (type.isStringLiteral() || type.isNumberLiteral()) return type.value;
  return checker.typeToString(type) === 'true';
}
