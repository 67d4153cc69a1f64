// Rows of `bench -- hostile-client` about passwords, invitations, what is kept, the clock and the contract's numbers.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, openSync, readdirSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { writeTinyModel } from '../../test/model/tiny-model.js';

/** A service under attack. */
export interface Service {
  readonly url: string;
  readonly port: number;
  readonly key: string;
  readonly password: string;
  readonly output: () => string;
  end(signal?: NodeJS.Signals): Promise<void>;
}

/** What was seen, and whether it is as wanted. */
export interface Seen {
  readonly seen: string;
  readonly isGood: boolean;
}

export interface Row {
  readonly row: string;
  readonly what: string;
  run(): Promise<Seen>;
}

/** What rows are run with. */
export interface RowTools {
  readonly dist: string;
  start(data: string, flags?: readonly string[], env?: NodeJS.ProcessEnv): Promise<Service>;
  /** A new folder, removed at the end. */
  folder(): string;
}

const PASSWORD = 'a password of some length';
const DAY_MS = 86_400_000;

interface Session {
  api(method: string, path: string, body?: object): Promise<{ readonly status: number; readonly json: Answer }>;
}
type Answer = Readonly<Record<string, never>> & {
  readonly csrf?: string;
  readonly token?: string;
  readonly member?: { readonly accountId: string };
};

/** Asks the dashboard; a session's cookie and token go with every request. */
async function ask(
  service: Service,
  method: string,
  path: string,
  body: object | undefined,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly status: number; readonly json: Answer; readonly cookie: string }> {
  const response = await fetch(`${service.url}/dashboard/api${path}`, {
    method,
    headers: { origin: service.url, ...(body ? { 'content-type': 'application/json' } : {}), ...headers },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const cookie = response.headers.getSetCookie().map((it) => it.split(';')[0]);
  return { status: response.status, json: (await response.json()) as Answer, cookie: cookie.join('; ') };
}

async function open(service: Service, path: string, body: object): Promise<Session> {
  const { json, cookie, status } = await ask(service, 'POST', path, body);
  if (json.csrf === undefined) throw new Error(`no session: ${status}`);
  const headers = { cookie, 'x-csrf-token': json.csrf };
  return { api: (method, inner, given) => ask(service, method, inner, given, headers) };
}

const signUp = (service: Service, account: string): Promise<Session> =>
  open(service, '/sign-up', { account, email: `${account}@example.com`, password: PASSWORD });
const owner = (service: Service): Promise<Session> =>
  open(service, '/sign-in', { email: 'owner@localhost', password: service.password });

async function screen(service: Service, input: unknown): Promise<{ readonly status: number; readonly json: Verdict }> {
  const response = await fetch(`${service.url}/analyze`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ input }),
  });
  return { status: response.status, json: (await response.json()) as Verdict };
}
type Verdict = { readonly ml_threshold?: number; readonly ml_version?: string };

/** An environment in which the clock is some days ahead. */
function ahead(folder: string, days: number): NodeJS.ProcessEnv {
  const file = join(folder, 'clock.cjs');
  writeFileSync(
    file,
    `const now = Date.now; const by = ${days * DAY_MS}; const Own = Date;
globalThis.Date = class extends Own { constructor(...args) { args.length === 0 ? super(now() + by) : super(...args); } static now() { return now() + by; } };`,
  );
  return { ...process.env, NODE_OPTIONS: `--require ${file}` };
}

/** Rows V5, V7 to V10 and of the contract. */
export function accountRows({ dist, start, folder }: RowTools): readonly Row[] {
  const rows: Row[] = [
    {
      row: 'V5',
      what: 'the SHA-256 of a phone number in the files of an account that keeps digests',
      async run() {
        const data = folder();
        const service = await start(data);
        const session = await owner(service);
        await session.api('PUT', '/settings', { keep: 'hash', retentionDays: 30, verdictForm: 'extended' });
        const text = '+49 170 1234567';
        await screen(service, text);
        await service.end('SIGTERM');
        const digest = createHash('sha256').update(text).digest('hex');
        const isThere = readdirSync(data).some((file) => readFileSync(join(data, file)).includes(digest));
        return { seen: isThere ? 'there' : 'not there', isGood: !isThere };
      },
    },
    {
      row: 'V8',
      what: 'who kept the link of an invitation has set a password for the e-mail; then the person is invited by somebody else',
      async run() {
        const service = await start(folder(), ['--sign-up', 'on']);
        const email = 'victim@example.com';
        const link = async (by: Session): Promise<string | undefined> =>
          (await by.api('POST', '/invitations', { email, role: 'viewer' })).json.token;
        const [mallory, ada] = [await signUp(service, 'mallory'), await signUp(service, 'ada')];
        await ask(service, 'POST', '/invitation/accept', { token: await link(mallory), password: 'known to mallory' });
        const token = await link(ada);
        const joined = await ask(service, 'POST', '/invitation/accept', { token, password: 'known to the victim' });
        const own = await ask(service, 'POST', '/sign-in', { email, password: 'known to the victim' });
        const trap = await ask(service, 'POST', '/sign-in', { email, password: 'known to mallory' });
        await service.end();
        const isGood = own.status === 200 && own.json.member?.accountId !== trap.json.member?.accountId;
        return { seen: `joins with a password of their own: ${joined.status}, signs in: ${own.status}`, isGood };
      },
    },
    {
      row: 'V9',
      what: 'a look at an invitation to a known and to an unknown e-mail; eight guesses with an invitation each',
      async run() {
        const service = await start(folder(), ['--sign-up', 'on']);
        const [mallory] = [await signUp(service, 'mallory'), await signUp(service, 'victim')];
        const link = async (email: string): Promise<string | undefined> =>
          (await mallory.api('POST', '/invitations', { email, role: 'viewer' })).json.token;
        const looks = [];
        for (const email of ['victim@example.com', 'nobody@example.com']) {
          const { json } = await ask(service, 'POST', '/invitation/look', { token: await link(email) });
          looks.push(JSON.stringify({ ...json, email: '' }));
        }
        const codes: number[] = [];
        for (let at = 0; at < 8; at += 1) {
          const body = { token: await link('victim@example.com'), password: `guess ${at} at it`, as: 'member' };
          codes.push((await ask(service, 'POST', '/invitation/accept', body)).status);
        }
        await service.end();
        const isSame = looks[0] === looks[1];
        return {
          seen: `${isSame ? 'the same' : 'different'}; ${codes.join(' ')}`,
          isGood: isSame && codes.at(-1) === 429,
        };
      },
    },
    {
      row: 'V10',
      what: 'a database with every third page overwritten',
      async run() {
        const data = folder();
        const service = await start(data);
        for (let at = 0; at < 300; at += 1) await screen(service, `text ${at} `.repeat(40));
        await service.end('SIGTERM');
        const file = join(data, 'portcullis.db');
        const pages = openSync(file, 'r+');
        for (let page = 1; page < statSync(file).size / 4096; page += 3)
          writeSync(pages, Buffer.alloc(4096, 0xa5), 0, 4096, page * 4096);
        closeSync(pages);
        try {
          await (await start(data)).end();
          return { seen: 'ready', isGood: false };
        } catch (error) {
          const isNamed = /damaged.*backup/s.test(String(error));
          return { seen: isNamed ? 'refused: damaged, restore a backup' : 'ends without advice', isGood: isNamed };
        }
      },
    },
    {
      row: 'V10',
      what: 'a purge by a clock that is five years ahead',
      async run() {
        const data = folder();
        const service = await start(data);
        for (let at = 0; at < 3; at += 1) await screen(service, `text ${at}`);
        await service.end('SIGTERM');
        const args = [join(dist, 'cli', 'main.js'), 'admin', 'purge', '--data', data];
        const { stdout, status } = spawnSync(process.execPath, args, {
          env: ahead(folder(), 5 * 365),
          encoding: 'utf8',
        });
        return { seen: status === 0 ? stdout.trim() : 'no purge', isGood: status !== 0 };
      },
    },
    {
      row: 'contract',
      what: 'a trial of three calls, used up, 40 days later',
      async run() {
        const data = folder();
        const plans = join(folder(), 'plans.yaml');
        writeFileSync(plans, 'plans:\n  trial: { monthly_calls: 3, trial_days: 90 }\noverage_pack_calls: 1\n');
        const service = await start(data, ['--plans', plans]);
        for (let at = 0; at < 3; at += 1) await screen(service, `text ${at}`);
        await service.end('SIGTERM');
        const later = await start(data, ['--plans', plans], ahead(folder(), 40));
        const { status } = await screen({ ...later, key: service.key }, 'one more');
        await later.end();
        return { seen: String(status), isGood: status === 429 };
      },
    },
    {
      row: 'contract',
      what: 'an order of a trial',
      async run() {
        const service = await start(folder());
        const { status } = await (await owner(service)).api('POST', '/orders', { kind: 'plan', plan: 'trial' });
        await service.end();
        return { seen: String(status), isGood: status >= 400 && status < 500 };
      },
    },
    {
      row: 'contract',
      what: '`ml_threshold` before and after the file of the model was damaged',
      async run() {
        const model = writeTinyModel();
        const manifest = join(model, 'manifest.json');
        writeFileSync(manifest, readFileSync(manifest, 'utf8').replace('"threshold":0.5', '"threshold":0.8'));
        const seen: string[] = [];
        for (const isDamaged of [false, true]) {
          if (isDamaged) writeFileSync(join(model, 'model.onnx'), 'no model');
          const service = await start(folder(), ['--mode', 'hybrid', '--model', model]);
          const { json } = await screen(service, 'the cat sat');
          seen.push(String(json.ml_threshold));
          await service.end();
        }
        return { seen: seen.join(', then '), isGood: seen[0] === '0.8' && seen[1] === '0.8' };
      },
    },
  ];
  return rows;
}
