import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';

/** A PostgreSQL server of its own, in a folder that goes with it. */
export interface PostgresServer {
  /** Address of the database `postgres`; its user may make others. */
  readonly url: string;
  start(): Promise<void>;
  /** Pulls the plug: no goodbye to clients, recovery at the next start. */
  crash(): Promise<void>;
  remove(): Promise<void>;
}

const DEBIAN = '/usr/lib/postgresql';

/** The folder of `initdb` and `postgres`, the newest version; undefined where there is none. */
const findBinaries = (): string | undefined => {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a)) : [];
  const asked = spawnSync('pg_config', ['--bindir'], { encoding: 'utf8' }).stdout?.trim();
  const folders = [...versions.map((it) => join(DEBIAN, it, 'bin')), ...(asked ? [asked] : [])];
  return folders.find((it) => existsSync(join(it, 'initdb')) && existsSync(join(it, 'postgres')));
};

const isRoot = (): boolean => process.getuid?.() === 0;

/** Installs Debian's packages where they are missing and this user may. @throws Error that says what to do */
const ensureBinaries = (): string => {
  const found = findBinaries();
  if (found) return found;
  if (isRoot() && existsSync('/usr/bin/apt-get')) {
    const options = {
      stdio: ['ignore', 2, 2] as ['ignore', number, number],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    };
    spawnSync('apt-get', ['update', '-qq'], options);
    spawnSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'postgresql'], options);
  }
  const installed = findBinaries();
  if (!installed) throw new Error('the store is tested on a real PostgreSQL: install one (apt-get install postgresql)');
  return installed;
};

/** PostgreSQL refuses to run as root: then a system user runs it. */
const systemUser = (): { readonly uid: number; readonly gid: number } | undefined => {
  if (!isRoot()) return undefined;
  const id = (flag: string, name: string): number => Number(execFileSync('id', [flag, name], { encoding: 'utf8' }));
  const name = spawnSync('id', ['postgres']).status === 0 ? 'postgres' : 'nobody';
  return { uid: id('-u', name), gid: id('-g', name) };
};

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });

const answers = async (url: string): Promise<boolean> => {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('SELECT 1');
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
};

/** Starts a server on a free port. @throws Error where there is none and none can be installed */
export async function startPostgres(): Promise<PostgresServer> {
  const binaries = ensureBinaries();
  const user = systemUser();
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-pg-'));
  if (user) chownSync(folder, user.uid, user.gid);
  const cluster = join(folder, 'cluster');
  const asUser = { cwd: folder, ...user, env: { ...process.env, LC_ALL: 'C.UTF-8' } };
  execFileSync(
    join(binaries, 'initdb'),
    ['-D', cluster, '-U', 'portcullis', '--auth=trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync'],
    { ...asUser, stdio: ['ignore', 'ignore', 'inherit'] },
  );
  const port = await freePort();
  const url = `postgres://portcullis@127.0.0.1:${port}/postgres`;
  let server: ChildProcess | undefined;

  const start = async (): Promise<void> => {
    const settings = ['listen_addresses=127.0.0.1', `unix_socket_directories=${folder}`, 'max_connections=200'];
    const flags = ['-D', cluster, '-p', String(port), ...settings.flatMap((it) => ['-c', it])];
    server = spawn(join(binaries, 'postgres'), flags, { ...asUser, stdio: 'ignore' });
    for (let i = 0; i < 150; i += 1) {
      if (await answers(url)) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error('PostgreSQL does not answer');
  };

  /** SIGQUIT is its "immediate" shutdown: as after a crash. */
  const crash = (): Promise<void> =>
    new Promise((resolve) => {
      if (!server || server.exitCode !== null) resolve();
      else server.once('exit', () => resolve()).kill('SIGQUIT');
    });

  await start();
  return {
    url,
    start,
    crash,
    async remove() {
      await crash();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
