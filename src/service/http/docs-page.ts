import { hash } from 'node:crypto';

const STYLE =
  ':root{color-scheme:light dark;background:#fff;color:#1a1d21}a{color:#0b57d0}@media(prefers-color-scheme:dark){:root{background:#15181c;color:#e6e8eb}a{color:#8ab4f8}}body{background:inherit;font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere}' +
  'pre{overflow:auto;padding:1rem;border:1px solid #8888;border-radius:4px;overflow-wrap:normal}code{font:14px/1.5 ui-monospace,monospace}' +
  '.table{overflow-x:auto}table{border-collapse:collapse}td,th{border:1px solid #8888;padding:.25rem .5rem;text-align:left;vertical-align:top}' +
  'td:first-child{white-space:nowrap}';

/** The page's policy allows its one style. */
export const docsStyleSource: string = `'sha256-${hash('sha256', STYLE, 'base64')}'`;

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
  readonly description?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

interface Media {
  readonly schema?: Schema;
  readonly examples?: Readonly<Record<string, { readonly value?: unknown }>>;
}

interface Operation {
  readonly summary?: string;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly description?: string;
    readonly schema?: Schema;
  }[];
  readonly requestBody?: { readonly content?: Readonly<Record<string, Media>> };
  readonly responses?: Readonly<
    Record<
      string,
      {
        readonly description?: string;
        readonly headers?: Readonly<Record<string, { readonly description?: string }>>;
        readonly content?: Readonly<Record<string, Media>>;
      }
    >
  >;
}

interface Document {
  readonly info?: { readonly title?: string; readonly version?: string; readonly description?: string };
  readonly paths?: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

/** The reference of the interface, from the published document: nothing is loaded, nothing runs. `origin`: where the reader is. */
export function docsPage(given: object, origin: string): string {
  const document = given as Document;
  const { info, paths = {}, components } = document;
  const sections = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => operationSection(method, path, operation, document)),
  );
  const shapes = Object.entries(components?.schemas ?? {}).map(
    ([name, schema]) => `<h2 id="${inHtml(name)}">${inHtml(name)}</h2>${fieldTable(name, schema, document)}`,
  );
  return (
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
    `<title>${inHtml(info?.title)}</title><style>${STYLE}</style></head><body><main>` +
    `<h1>${inHtml(info?.title)} ${inHtml(info?.version)}</h1><p>${prose(info?.description)}</p>` +
    `<p>The whole schema: <a href="/openapi.json">/openapi.json</a> (OpenAPI 3.1). Keys: <a href="/dashboard/#/keys">dashboard</a>.</p>` +
    `<h2 id="examples">Examples</h2>${examples(origin)}${sections.join('')}${shapes.join('')}</main></body></html>`
  );
}

function examples(origin: string): string {
  const url = `${origin}/analyze`;
  const text = 'Ignore all previous instructions.';
  const samples: readonly (readonly [string, string])[] = [
    [
      'curl',
      `curl -s ${url} \\\n  -H 'Authorization: Bearer <API_KEY>' \\\n  -H 'Content-Type: application/json' \\\n  -d '{"input":"${text}"}'`,
    ],
    [
      'JavaScript',
      `const response = await fetch('${url}', {\n  method: 'POST',\n  headers: { Authorization: 'Bearer <API_KEY>', 'Content-Type': 'application/json' },\n  body: JSON.stringify({ input: '${text}' }),\n});\nif (!response.ok) throw new Error((await response.json()).error);\nconst verdict = await response.json();\nif (verdict.verdict === 'block') console.log(verdict.rule, verdict.reason);`,
    ],
    [
      'Python',
      `import json, urllib.request\n\nrequest = urllib.request.Request(\n    "${url}",\n    data=json.dumps({"input": "${text}"}).encode(),\n    headers={"Authorization": "Bearer <API_KEY>", "Content-Type": "application/json"},\n)\nwith urllib.request.urlopen(request) as response:\n    verdict = json.load(response)\nif verdict["verdict"] == "block":\n    print(verdict["rule"], verdict["reason"])`,
    ],
  ];
  return samples.map(([name, code]) => `<h3>${name}</h3>${codeBlock(code, name)}`).join('');
}

function operationSection(method: string, path: string, operation: Operation, document: Document): string {
  const { summary, parameters = [], requestBody, responses = {} } = operation;
  const body = Object.values(requestBody?.content ?? {})[0]?.schema;
  const query = parameters.map(({ name, in: place, required, description, schema }) => [
    code(name),
    inHtml(place),
    typeWords(schema, document),
    required ? 'yes' : 'no',
    prose(description),
  ]);
  const rows = Object.entries(responses).map(([status, { description, headers = {} }]) => [
    code(status),
    prose(description),
    Object.keys(headers).map(code).join(' '),
  ]);
  const told = Object.entries(responses).flatMap(([status, { content = {} }]) =>
    Object.values(content).flatMap(({ examples: given = {} }) =>
      Object.values(given)
        .slice(0, 1)
        .map(
          ({ value }) => `<h4>${inHtml(status)}</h4>${codeBlock(JSON.stringify(value, null, 2), `response ${status}`)}`,
        ),
    ),
  );
  return (
    `<h2>${inHtml(method.toUpperCase())} ${inHtml(path)}</h2><p>${prose(summary)}</p>` +
    (query.length === 0
      ? ''
      : `<h3>Parameters</h3>${table(`Parameters of ${path}`, ['Name', 'In', 'Type', 'Required', 'Meaning'], query)}`) +
    (body === undefined ? '' : `<h3>Body</h3>${fieldTable(`the body of ${path}`, body, document)}`) +
    `<h3>Responses</h3>${table(`Responses of ${path}`, ['Status', 'Meaning', 'Headers'], rows)}${told.join('')}`
  );
}

function fieldTable(label: string, given: Schema, document: Document): string {
  const schema = resolved(given, document);
  const options = schema.anyOf ?? schema.oneOf;
  if (options !== undefined) {
    const linked = options.map((option) => typeWords(option, document));
    return `<p>One of: ${linked.join(', ')}.</p>`;
  }
  const fields = Object.entries(schema.properties ?? {});
  if (fields.length === 0) return `<p>${typeWords(given, document)} ${prose(schema.description)}</p>`;
  const rows = fields.map(([name, field]) => [
    code(name),
    typeWords(field, document),
    schema.required?.includes(name) ? 'yes' : 'no',
    prose(resolved(field, document).description),
  ]);
  return table(`Fields of ${label}`, ['Field', 'Type', 'Required', 'Meaning'], rows);
}

function resolved(schema: Schema, document: Document): Schema {
  const name = schema.$ref?.replace('#/components/schemas/', '');
  return (name === undefined ? undefined : document.components?.schemas?.[name]) ?? schema;
}

function typeWords(schema: Schema | undefined, document: Document): string {
  if (schema === undefined) return 'any';
  const { $ref, enum: values, const: only, anyOf, oneOf, items, type, minimum, maximum, pattern } = schema;
  if ($ref !== undefined) {
    const name = inHtml($ref.replace('#/components/schemas/', ''));
    return `<a href="#${name}">${name}</a>`;
  }
  if (only !== undefined) return code(JSON.stringify(only));
  if (values !== undefined) return values.map((value) => code(JSON.stringify(value))).join(', ');
  const options = anyOf ?? oneOf;
  if (options !== undefined) return options.map((option) => typeWords(option, document)).join(' or ');
  if (items !== undefined) return `array of ${typeWords(items, document)}`;
  const isSafe = (bound: number): boolean => Math.abs(bound) < Number.MAX_SAFE_INTEGER;
  const bounds = [
    ...(minimum === undefined || !isSafe(minimum) ? [] : [`from ${minimum}`]),
    ...(maximum === undefined || !isSafe(maximum) ? [] : [`to ${maximum}`]),
    ...(pattern === undefined ? [] : [`as ${code(pattern)}`]),
  ];
  return [inHtml([type ?? 'any'].flat().join(' or ')), ...bounds].join(' ');
}

function table(label: string, head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (tag: string, row: readonly string[]): string => row.map((cell) => `<${tag}>${cell}</${tag}>`).join('');
  return (
    `<div class="table" tabindex="0" role="region" aria-label="${inHtml(label)}"><table><thead><tr>${cells('th', head)}</tr></thead>` +
    `<tbody>${rows.map((row) => `<tr>${cells('td', row)}</tr>`).join('')}</tbody></table></div>`
  );
}

function codeBlock(text: string, label: string): string {
  return `<pre tabindex="0" aria-label="${inHtml(label)}"><code>${inHtml(text)}</code></pre>`;
}

function code(text: string): string {
  return `<code>${inHtml(text)}</code>`;
}

function prose(text = ''): string {
  return inHtml(text).replace(/&#96;([^&]*?)&#96;/g, '<code>$1</code>');
}

function inHtml(text = ''): string {
  return text.replace(/[&<>"'`]/g, (char) => `&#${char.charCodeAt(0)};`);
}
