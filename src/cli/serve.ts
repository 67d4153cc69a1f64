import { availableParallelism } from 'node:os';
import { Command, Option } from 'commander';
import { FIRST_EMAIL, type FirstAccount, type UnshownAccount } from '../service/first-account.js';
import type { RunningService } from '../service/run-service.js';
import type { ServiceSettings } from '../service/settings.js';
import { collect, trustOption, withPackOptions, withTrust } from './engine-flags.js';
import { CliError } from './terminal.js';

export const PACKAGES =
  'fastify@5 @fastify/swagger@9 @fastify/cookie@11 @fastify/helmet@13 @fastify/static@10 pino@10 prom-client@15 @node-rs/argon2@2 otpauth@9 better-sqlite3@12.11.1';

async function start(settings: ServiceSettings): Promise<RunningService> {
  if (settings.processes === 1) return (await import('../service/serve.js')).serve(settings);
  return (await import('../service/processes.js')).serveProcesses(settings);
}

/** System calls of a server that begins to listen: `bind` is that of one in a process of several. */
const LISTENING: readonly string[] = ['listen', 'bind', 'getaddrinfo'];

function startFailure(error: unknown, { host, port }: ServiceSettings): unknown {
  if (!(error instanceof Error && 'code' in error)) return error;
  if (error.code === 'ERR_MODULE_NOT_FOUND')
    return new CliError(`the service needs packages that aren't installed: npm install ${PACKAGES}`);
  if (!('syscall' in error && LISTENING.includes(String(error.syscall)))) return error;
  return new CliError(`can't listen on ${host}:${port} (${error.code}): choose another with --host or --port`);
}

function shownAccount(first: FirstAccount | UnshownAccount, url: string): string {
  if ('key' in first)
    return `first account (shown once): ${first.email} password ${first.password}\nAPI key (shown once): ${first.key}\ndashboard: ${url}/dashboard/`;
  const { account, hasOwner } = first;
  const password = hasOwner
    ? `portcullis admin user reset-password ${FIRST_EMAIL}`
    : `portcullis admin user create ${FIRST_EMAIL} ${account}`;
  return `the first start ended before it showed its API key. With the same --data or --database-url,\n  portcullis admin key create ${account}\ncreates a key, and\n  ${password}\nsets a password for the dashboard.`;
}

const isTexts = (value: unknown): value is readonly string[] => Array.isArray(value);

async function run(options: Record<string, unknown>): Promise<void> {
  const { printConfig, core: _core, workers, scorers, processes, maxConcurrency, trust, ...given } = options;
  // The names of 1.0 still work; where both are given, the new one counts.
  const flags = {
    ...given,
    ...(isTexts(trust) ? { pack: withTrust(isTexts(given.pack) ? given.pack : [], trust) } : {}),
    workers: workers ?? scorers ?? String(Math.max(1, availableParallelism() - Number(processes))),
    processes,
    callsAtOnce: maxConcurrency ?? given.callsAtOnce ?? '1000',
  };
  const { settingsSchema, maskedSettings } = await import('../service/settings.js');
  const parsed = settingsSchema.safeParse(flags);
  if (!parsed.success) {
    const issues = parsed.error.issues.map(({ path, message }) => [path.join('.'), message].filter(Boolean).join(': '));
    throw new CliError(`invalid settings: ${issues.join('; ')}`);
  }
  if (printConfig) {
    process.stdout.write(`${JSON.stringify(maskedSettings(parsed.data), null, 2)}\n`);
    return;
  }
  const service = await start(parsed.data).catch((error: unknown) => {
    throw startFailure(error, parsed.data);
  });
  let ending = false;
  const end = (): void => {
    if (ending) return;
    ending = true;
    service.close().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on('SIGTERM', end);
  process.on('SIGINT', end);
  const { firstAccount } = service;
  if (firstAccount !== undefined) process.stdout.write(`${shownAccount(firstAccount, service.url)}\n`);
  process.stdout.write(`ready ${service.url}\n`);
  // Without this note the next start names the account once more.
  if (firstAccount !== undefined && 'key' in firstAccount) await service.firstAccountShown().catch(() => undefined);
}

/** An option that `PORTCULLIS_` and its name in capitals can set, too. */
function setting(flags: string, description?: string, standard?: string): Option {
  const option = new Option(flags, description);
  option.env(`PORTCULLIS_${option.name().toUpperCase().replaceAll('-', '_')}`);
  if (description === undefined) option.hideHelp();
  return standard === undefined ? option : option.default(standard);
}

const OPTIONS: readonly Option[] = [
  setting('--data <folder>', 'data folder of the embedded database'),
  setting('--database-url <url>', 'use PostgreSQL instead of the embedded database: postgres://...'),
  setting('--plans <file>', 'plans file, YAML or JSON'),
  // By the environment alone: a flag is seen in lists of processes.
  setting('--key-pepper <secret>'),
  setting('--host <address>', 'address to listen on', '127.0.0.1'),
  setting('--port <number>', 'port to listen on; 0 picks a free one', '8080'),
  setting('--mode <mode>', 'rules, hybrid or shadow'),
  new Option('--overlay <file>', 'overlay file; may be repeated').argParser(collect),
  setting('--model <name>', 'name, npm package or folder of a model; "off" runs the rules alone'),
  setting('--operating-point <name>', 'where the model blocks: strict, balanced or permissive'),
  setting('--processes <number>', 'processes that share the port', '1'),
  setting('--workers <number>', 'engine workers (default: one per core, less one per process)'),
  setting('--scorers <number>'),
  setting('--body-limit <bytes>', 'largest request body; larger ones get 413', '1048576'),
  setting('--max-concurrency <number>', 'calls in flight at once; more get 503 (default: 1000)'),
  setting('--calls-at-once <number>'),
  setting(
    '--calls-per-account <number>',
    'calls in flight for one account (default: a quarter of --max-concurrency, at least 32)',
  ),
  setting(
    '--connections-per-address <number>',
    'open connections from one address (default: 512; trusted proxies are not limited)',
  ),
  setting(
    '--trust-proxy <networks>',
    'proxies whose X-Forwarded-* headers are trusted: addresses, 10.0.0.0/8, loopback, uniquelocal',
  ),
  setting('--deadline <ms>', 'time limit of one call in an engine worker', '30000'),
  setting('--sign-up <on|off>', 'whether visitors may create an account', 'off').choices(['on', 'off']),
  setting(
    '--webhook-private-addresses <on|off>',
    'whether webhooks may use private addresses and plain HTTP',
    'off',
  ).choices(['on', 'off']),
  setting('--public-url <url>', 'public URL of the service; with https, cookies are Secure'),
  setting('--trace-url <url>', 'where the dashboard links a trace, with {trace_id} in it'),
  setting('--stripe-secret-key <key>', 'take payments with Stripe; prefer the environment variable'),
  setting('--stripe-webhook-secret <secret>', 'signing secret of the webhook /dashboard/billing/stripe'),
  setting('--stripe-price <plan=price>', 'Stripe price id of a plan; may be repeated').argParser(collect),
  setting('--stripe-overage-price <price>', 'Stripe price id of one overage pack'),
  trustOption(),
  setting('--log-level <level>', 'level of the JSON log on stderr', 'info'),
  new Option('--print-config', 'print the settings as JSON and exit'),
];

/** `portcullis serve`: the HTTP service; prints `ready http://HOST:PORT` when it answers. */
export function serveCommand(): Command {
  const command = new Command('serve').description('run the screening service');
  for (const option of OPTIONS) command.addOption(option);
  return withPackOptions(command).action(run);
}
