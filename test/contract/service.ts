import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { AccountSettings } from '../../src/store/account-store.js';
import type { Store } from '../../src/store/store.js';
import type { TestDatabase } from '../store/databases.js';
import { type Answer, type Call, call } from './call.js';

/** An account with a key of its own. */
export interface Caller {
  readonly accountId: string;
  readonly key: string;
  readonly keyId: string;
}

/** What an account of a test is like; a pro plan where nothing is said. */
export interface AccountWish {
  readonly plan?: string;
  readonly trialEndsAt?: number;
  readonly overage?: number;
  readonly settings?: Partial<AccountSettings>;
}

/** The built service in a process of its own, and the database it uses. */
export interface Service {
  readonly url: string;
  /** The same database, opened beside the service. */
  readonly store: Store;
  /** All that the service wrote on stdout and stderr. */
  output(): string;
  /** Account, owner and key that the first run made. */
  readonly first: { readonly email: string; readonly password: string; readonly key: string };
  account(wish?: AccountWish): Promise<Caller>;
  call(of: Call): Promise<Answer>;
  /** Sets the wall clock of the service and of `store`; undefined: back to the system's. */
  setClock(time: string | number | undefined): Promise<void>;
  now(): number;
  /** Ends the service and its connections; the database stays. */
  stop(): Promise<void>;
}

const main = join('dist', 'cli', 'main.js');
const preload = pathToFileURL(join('test', 'contract', 'shifted-clock.mjs')).href;

/** Plans of the tests: those of the product, and one whose month is soon used up. */
const PLANS = `plans:
  trial: { monthly_calls: 1000, trial_days: 14 }
  starter: { monthly_calls: 10000 }
  pro: { monthly_calls: 250000 }
  scale: { monthly_calls: 5000000 }
  tiny: { monthly_calls: 3 }
overage_pack_calls: 10000
`;

/** Starts `portcullis serve` on a database; resolves when it says that it is ready. */
export async function startService(
  database: TestDatabase,
  folder: string,
  flags: readonly string[] = ['--mode', 'rules'],
): Promise<Service> {
  const plansFile = join(folder, 'plans.yaml');
  writeFileSync(plansFile, PLANS);
  const child = spawn(
    process.execPath,
    ['--import', preload, main, 'serve', ...database.flags, '--port', '0', '--workers', '1', ...flags],
    {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: { ...process.env, PORTCULLIS_PLANS: plansFile, PORTCULLIS_TEST_CLOCK: String(process.pid) },
    },
  );
  let output = '';
  const url = await readyUrl(child, (text) => {
    output += text;
  });
  let shift = 0;
  const store = await database.open({ plansFile, now: () => Date.now() + shift });
  const [, email = '', password = ''] = /first account \(shown once\): (\S+) password (\S+)/.exec(output) ?? [];
  return {
    url,
    store,
    first: { email, password, key: /svc_live_\S+/.exec(output)?.[0] ?? '' },
    output: () => output,
    now: () => Date.now() + shift,
    call: (of) => call(url, of),
    account: (wish) => makeAccount(store, wish),
    async setClock(time) {
      shift = time === undefined ? 0 : new Date(time).getTime() - Date.now();
      await new Promise<void>((resolve) => {
        child.once('message', () => resolve());
        child.send({ shift });
      });
    },
    async stop() {
      await store.close();
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      await ended;
    },
  };
}

function readyUrl(child: ChildProcess, write: (text: string) => void): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const read = (chunk: Buffer): void => {
      text += chunk;
      write(String(chunk));
      const url = /^ready (http:\S+)$/m.exec(text)?.[1];
      if (url !== undefined) resolve(url);
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    child.once('exit', () => reject(new Error(`the service ended: ${text}`)));
  });
}

async function makeAccount(
  store: Store,
  { plan = 'pro', trialEndsAt, overage, settings }: AccountWish = {},
): Promise<Caller> {
  const { id } = await store.accounts.create(`account ${Math.random()}`, plan);
  if (trialEndsAt !== undefined) await store.accounts.setTrialEnd(id, trialEndsAt);
  if (overage !== undefined) await store.accounts.addOverage(id, overage);
  if (settings !== undefined) await store.accounts.setSettings(id, settings);
  const { secret, id: keyId } = await store.keys.create(id, 'test');
  return { accountId: id, key: secret, keyId };
}
