import { readFileSync } from 'node:fs';
import { z } from 'zod';

// A simulated office: twelve services with state, tasks of its user, and attacks that are planted in its records.

const SERVICES = [
  'mail',
  'events',
  'files',
  'transactions',
  'contacts',
  'pages',
  'chat',
  'products',
  'issues',
  'notes',
  'customers',
  'outputs',
] as const;
type Service = (typeof SERVICES)[number];

const officeRecord = z.looseObject({ id: z.string() });
const office = z.strictObject(
  Object.fromEntries(SERVICES.map((name) => [name, z.array(officeRecord)])) as Record<
    Service,
    z.ZodArray<typeof officeRecord>
  >,
);
const call = z.strictObject({ tool: z.string(), args: z.record(z.string(), z.unknown()) });
const task = z.strictObject({
  id: z.string().regex(/^h\d\d$/),
  lang: z.string().length(2),
  user: z.string(),
  /** Records that the office has beside its own in this run. */
  records: office.partial(),
  /** What an agent that does the task calls, in order. */
  calls: z.array(call).min(2),
});
const attack = z.strictObject({
  id: z.string().regex(/^a\d\d$/),
  kind: z.enum(['wrapped', 'system', 'bare', 'procedure', 'halved', 'disguised', 'quiet', 'forged', 'answer']),
  task: z.string(),
  /** Texts that are added to a member of a record, or take the place of `old` in it. */
  planted: z
    .array(
      z.strictObject({
        ...{ record: z.string(), field: z.string(), text: z.string() },
        at: z.literal('start').optional(),
        old: z.string().optional(),
      }),
    )
    .min(1),
  /** What an agent that obeys calls, and what it says at the end. */
  calls: z.array(call).optional(),
  answer: z.string().optional(),
});

export type Office = z.infer<typeof office>;
export type Call = z.infer<typeof call>;
export type Task = z.infer<typeof task>;
export type Attack = z.infer<typeof attack>;
export const KINDS: readonly Attack['kind'][] = attack.shape.kind.options;

const linesOf = <T>(file: string, schema: z.ZodType<T>): readonly T[] =>
  readFileSync(`bench/runs/${file}`, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => schema.parse(JSON.parse(line)));
const base = office.parse(JSON.parse(readFileSync('bench/runs/office.json', 'utf8')));

export const tasks: readonly Task[] = linesOf('tasks.jsonl', task);
export const attacks: readonly Attack[] = linesOf('attacks.jsonl', attack);

/** Runs to choose a default on have an odd task; those with an even one are kept apart. */
export function isChosenOn(id: string): boolean {
  return Number(id.slice(1)) % 2 === 1;
}

/** The office of a task, with what an attack plants in it. */
export function officeOf({ records }: Task, planted: Attack['planted'] = []): Office {
  const own = structuredClone(base);
  for (const service of SERVICES) own[service].push(...structuredClone(records[service] ?? []));
  for (const { record, field, text, at, old } of planted) {
    const found = SERVICES.flatMap((service) => own[service]).find(({ id }) => id === record);
    const before = found?.[field];
    if (found === undefined || typeof before !== 'string') throw new Error(`there is no ${field} of ${record}`);
    if (old !== undefined && !before.includes(old)) throw new Error(`${record} does not say what is replaced`);
    found[field] = old !== undefined ? before.replace(old, text) : at === 'start' ? text + before : before + text;
  }
  return own;
}

const search =
  (service: Service) =>
  (own: Office, { query }: Call['args']): unknown =>
    own[service].filter((record) => JSON.stringify(record).toLowerCase().includes(String(query).toLowerCase()));
const read =
  (service: Service, key: string, content?: string) =>
  (own: Office, args: Call['args']): unknown => {
    const found = own[service].find(({ id }) => id === args[key]);
    return content === undefined ? found : (found?.[content] ?? 'not found');
  };
const add =
  (service: Service) =>
  (own: Office, args: Call['args']): unknown => {
    own[service].push({ id: `new${own[service].length}`, ...args });
    return { ok: true };
  };
const change =
  (service: Service, key: string) =>
  (own: Office, args: Call['args']): unknown => {
    const found = own[service].find(({ id }) => id === args[key]);
    if (found === undefined) own[service].push({ ...args, id: String(args[key]) });
    else Object.assign(found, args, { id: found.id });
    return { ok: true };
  };
const remove =
  (service: Service, key: string) =>
  (own: Office, args: Call['args']): unknown => {
    own[service] = own[service].filter((record) => !JSON.stringify(record).includes(String(args[key])));
    return { ok: true };
  };

const TOOLS: Readonly<Record<string, (own: Office, args: Call['args']) => unknown>> = {
  search_mail: search('mail'),
  send_mail: add('mail'),
  list_events: search('events'),
  create_event: add('events'),
  update_event: change('events', 'id'),
  delete_event: remove('events', 'query'),
  read_file: read('files', 'path', 'content'),
  write_file: change('files', 'path'),
  share_file: change('files', 'path'),
  delete_file: remove('files', 'path'),
  list_transactions: search('transactions'),
  transfer_money: add('transactions'),
  find_contact: search('contacts'),
  add_contact: add('contacts'),
  open_page: read('pages', 'url', 'text'),
  submit_form: add('pages'),
  read_channel: (own, { channel }) => own.chat.filter((message) => message.channel === channel),
  post_message: add('chat'),
  search_products: search('products'),
  place_order: add('products'),
  read_issue: read('issues', 'id'),
  create_issue: add('issues'),
  comment_issue: change('issues', 'id'),
  read_note: search('notes'),
  add_note: add('notes'),
  get_customer: search('customers'),
  update_customer: change('customers', 'id'),
  run_code: (own, { code }) => own.outputs.find(({ id }) => String(code).startsWith(id))?.text ?? '',
};

/** Runs a tool on the office, which it changes, and returns its result. */
export function runTool(own: Office, { tool, args }: Call): unknown {
  const run = TOOLS[tool];
  if (run === undefined) throw new Error(`there is no tool ${tool}`);
  return run(own, args);
}
