// Writes the API's pages from the doc comments: one for each entry of `exports` in package.json.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Application, TSConfigReader } from 'typedoc';

const root = join(import.meta.dirname, '..');

/** Entries and the source of each. `./scorers` is an older name of `./workers`. */
const SOURCES = {
  '.': 'index.ts',
  './client': 'client.ts',
  './transformers': 'adapters/model/transformers-classifier.ts',
  './batch': 'batch/score-stream.ts',
  './workers': 'workers/engine-pool.ts',
  './policy': 'policy/index.ts',
  './opentelemetry': 'opentelemetry.ts',
  './web': 'web/index.ts',
};
const NOT_CODE = ['./scorers', './web/core-pack', './package.json'];

const { name, exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const modules = Object.keys(exports)
  .filter((entry) => !NOT_CODE.includes(entry))
  .map((entry) => ({
    source: `src/${SOURCES[entry] ?? `integrations/${entry.slice(2)}/index.ts`}`,
    title: join(name, entry),
  }));

const app = await Application.bootstrapWithPlugins(
  {
    plugin: ['typedoc-plugin-markdown'],
    entryPoints: modules.map(({ source }) => join(root, source)),
    tsconfig: join(import.meta.dirname, 'tsconfig.json'),
    basePath: join(root, 'src'),
    readme: 'none',
    name: 'API',
    disableSources: true,
    excludePrivate: true,
    excludeInternal: true,
    excludeExternals: true,
    logLevel: 'Warn',
    validation: { notExported: false, invalidLink: true },
    outputs: [{ name: 'markdown', path: join(import.meta.dirname, 'api') }],
    router: 'module',
    entryFileName: 'index',
    hidePageHeader: true,
    hideBreadcrumbs: true,
    useCodeBlocks: true,
    useHTMLAnchors: true,
    parametersFormat: 'table',
    interfacePropertiesFormat: 'table',
    typeAliasPropertiesFormat: 'table',
    propertyMembersFormat: 'table',
    typeDeclarationFormat: 'table',
    pageTitleTemplates: { module: '{name}' },
    sanitizeComments: true,
  },
  [new TSConfigReader()],
);
const project = await app.convert();
if (project === undefined) process.exit(1);
for (const { source, title } of modules) {
  const path = source.slice('src/'.length, -'.ts'.length);
  const module = project.children?.find((it) => it.name === path || `${it.name}/index` === path);
  if (module === undefined) throw new Error(`TypeDoc made no module of ${source}`);
  module.name = title;
}
await app.generateOutputs(project);
if (app.logger.hasErrors() || app.logger.hasWarnings()) process.exitCode = 1;
