import { hash } from 'node:crypto';
import { basename } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { Gateway } from '../../integrations/mcp/gateway.js';
import type { GatewayEvent } from '../../integrations/mcp/pin-event.js';
import type { Guard, GuardEvent, GuardOptions } from '../../policy/index.js';
import { choice, wholeNumber, withIsolation, withScreenerFlags } from '../engine-flags.js';
import { createEventFile } from '../event-file.js';
import { policyOption, readPolicy } from '../policy-file.js';
import { CliError } from '../terminal.js';
import { type AnalyzerFlags, type OpenAnalyzer, openAnalyzer } from './open-analyzer.js';
import { pinFileOption } from './pins-command.js';

interface ProxyFlags extends AnalyzerFlags, ReportFlags {
  readonly url?: URL;
  readonly host: string;
  readonly port: number;
  readonly header?: Readonly<Record<string, string>>;
  readonly name?: string;
  /** False by `--no-pins`. */
  readonly pins: string | false;
  readonly requireApproval?: boolean;
  readonly dryRun?: boolean;
  readonly redact?: boolean;
  readonly policy?: string;
  readonly onError: 'block' | 'allow';
  readonly maxMessageBytes: number;
}

const REPORT_ONLY: GuardOptions['on'] = {
  user: 'report',
  tool_call: 'report',
  tool_result: 'report',
  document: 'report',
  tool_definition: 'report',
  flow: { suspicious: 'report', foreign: 'report' },
};

/** The variables that a server must not see. */
const SECRETS = ['PORTCULLIS_API_KEY', 'PORTCULLIS_KEY_PEPPER', 'PORTCULLIS_DATABASE_URL'];

async function run(command: readonly string[], flags: ProxyFlags): Promise<void> {
  const { url } = flags;
  if ((url === undefined) === (command.length === 0))
    throw new CliError(
      url === undefined
        ? 'Name the server: portcullis mcp-proxy [options] -- COMMAND ..., or --url URL.'
        : 'Give a command or --url, not both.',
    );
  const [{ createGuard }, { createGateway }, { openPins }, { updatePins }] = await Promise.all([
    import('../../policy/index.js'),
    import('../../integrations/mcp/gateway.js'),
    import('../../integrations/mcp/pins.js'),
    import('../../integrations/mcp/pin-file.js'),
  ]);
  const policy = readPolicy(flags.policy);
  const server = flags.name ?? (url === undefined ? chooseName(command) : `${url.origin}${url.pathname}`);
  const screening = await openAnalyzer(flags);
  const tell = createReporter(flags, server, screening);
  const screens = createGuard({
    ...policy,
    engine: screening.analyzer,
    on: flags.dryRun
      ? REPORT_ONLY
      : { ...policy.on, ...(flags.redact ? { tool_result: 'redact', document: 'redact' } : {}) },
    onError: flags.onError,
    timeoutMs: flags.timeout,
    report: (event) => {
      if (event.action !== 'allow' || event.verdict === 'error') tell(event);
    },
  });
  // The run of the agent that started this process links its layers with this one.
  const runId = process.env.PORTCULLIS_RUN_ID ?? screens.runId;
  const guard: Guard = {
    ...screens,
    screen: (point, value, call) => screens.screen(point, value, { runId, ...call }),
    runId,
  };
  if (flags.pins !== false) await updatePins(flags.pins, () => undefined);
  const { pins: path, requireApproval = false, dryRun } = flags;
  const pins = path === false ? undefined : openPins({ path, server, requireApproval });
  const gateway = createGateway({ guard, pins, dryRun, report: tell });
  const reportAs = (event: Omit<GatewayEvent, 'runId'>): void => tell({ runId: guard.runId, ...event });
  const parts = { gateway, flags, screening, report: reportAs };
  if (url === undefined) await serveStdio(command, parts);
  else await serveHttp(url, parts);
}

interface ProxyParts {
  readonly gateway: Gateway;
  readonly flags: ProxyFlags;
  readonly screening: OpenAnalyzer;
  readonly report: (event: Omit<GatewayEvent, 'runId'>) => void;
}

async function serveStdio([command = '', ...args]: readonly string[], parts: ProxyParts): Promise<void> {
  const { gateway, flags, screening, report } = parts;
  const { startStdioProxy } = await import('../../integrations/mcp/stdio-proxy.js');
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !SECRETS.includes(name)));
  const session = startStdioProxy({
    gateway,
    server: { command, args, env },
    client: { input: process.stdin, output: process.stdout },
    ready: screening.ready,
    maxMessageBytes: flags.maxMessageBytes,
    report,
  });
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, () => session.kill(signal));
  process.on('exit', () => session.kill('SIGTERM'));
  const failed = screening.ready.then(() => new Promise<never>(() => {}));
  const { code, signal } = await Promise.race([session.end, failed]).catch((error: unknown) => {
    session.kill('SIGTERM');
    // The client's pipe would keep this process.
    process.stdin.destroy();
    if (!(error instanceof Error && 'syscall' in error && 'code' in error)) throw error;
    throw new CliError(`can't start ${command} (${error.code}): check the command after "--"`);
  });
  await screening.close();
  if (signal !== null) {
    for (const each of signals) process.removeAllListeners(each);
    process.kill(process.pid, signal);
    return;
  }
  process.exit(code ?? 1);
}

async function serveHttp(url: URL, { gateway, flags, screening, report }: ProxyParts): Promise<void> {
  await screening.ready;
  const { isLoopback, startHttpProxy } = await import('../../integrations/mcp/http-proxy.js');
  const { host, port, header = {}, maxMessageBytes } = flags;
  const proxy = await startHttpProxy({
    ...{ gateway, url, host, port, headers: header, maxMessageBytes, report },
    isOneRun: process.env.PORTCULLIS_RUN_ID !== undefined,
  }).catch((error: NodeJS.ErrnoException) => {
    throw new CliError(
      `can't listen on ${host}:${port} (${error.code ?? error.message}): choose another one with --host or --port`,
    );
  });
  if (!isLoopback(host))
    process.stderr.write(
      'portcullis: other machines can reach the gateway; their requests are sent with its --header values\n',
    );
  process.stdout.write(`ready ${proxy.url}\n`);
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  });
  await proxy.close();
  await screening.close();
}

/** A name for a server by its command: arguments may hold secrets, so that they count by their digest. */
function chooseName(command: readonly string[]): string {
  const RUNNERS = 'node npx npm bunx bun deno uvx uv python python3 docker cmd'.split(' ');
  const words = command.filter((word) => !word.startsWith('-') && word !== 'run' && word !== 'exec');
  const named = words.find((word) => !RUNNERS.includes(basename(word))) ?? command[0] ?? 'server';
  const steps = named.split(/[\\/]/).filter((step) => !/^(?:dist|build|src|lib|index\.\w+|)$/.test(step));
  const word = (steps.at(-1) ?? 'server').replace(/[^\w.@-]/g, '').slice(0, 40);
  return `${word}-${hash('sha256', JSON.stringify(command)).slice(0, 8)}`;
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new InvalidArgumentError('give an http:// or https:// URL.');
  if (url.username !== '' || url.password !== '') throw new InvalidArgumentError('pass credentials with --header.');
  return url;
}

/** `Name: value`; `$VARIABLE` or `${VARIABLE}` in the value is that of the environment. */
function parseHeader(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):\s*(.*)$/.exec(text) ?? [];
  if (name === undefined || value === undefined) throw new InvalidArgumentError('write it as "Name: value".');
  const filled = value.replace(/\$(?:(\w+)|\{(\w+)\})/g, (_, bare: string | undefined, braced = '') => {
    const variable: string = bare ?? braced;
    const found = process.env[variable];
    if (found === undefined) throw new InvalidArgumentError(`the variable ${variable} is not set.`);
    return found;
  });
  return { ...before, [name.toLowerCase()]: filled };
}

const HELP = `
Examples:
  portcullis mcp-proxy -- npx -y @modelcontextprotocol/server-everything
  portcullis mcp-proxy --url https://mcp.example/mcp --port 8808 --header 'Authorization: Bearer \${TOKEN}'

Pins:
  The tool definitions of a server's first listing are trusted unless the engine blocks them; with --require-approval
  none are. After that, a tool that is added, changed or renamed is hidden and can't be called until
  "portcullis mcp pins approve" allows it. Pins are stored per command line or URL; use --name to keep them when that changes.

What is screened:
  tool definitions, prompt and resource lists, arguments of tool calls, results and errors, prompts, resources, server
  instructions, all requests and notifications of the server. A blocked definition is hidden; a blocked call, result or
  text is replaced by a note with the rule and the evidence id; a blocked notification is dropped.

Exit code: the server's own, or the signal that ended it; 2 for invalid options.`;

/** `portcullis mcp-proxy`: a gateway in front of one MCP server. */
export function mcpProxyCommand(): Command {
  const command = new Command('mcp-proxy')
    .description('screen everything between an MCP client and a server: stdio (-- COMMAND) or streamable HTTP (--url)')
    .argument('[command...]', 'after "--": the command that starts the stdio server')
    .usage('[options] -- COMMAND [ARGUMENT ...]\n       portcullis mcp-proxy [options] --url URL')
    .option('--url <url>', 'streamable HTTP endpoint of the server; clients connect to this gateway instead', parseUrl)
    .option('--host <address>', 'with --url: address to listen on', '127.0.0.1')
    .option('--port <number>', 'with --url: port to listen on; 0 picks a free one', wholeNumber(0, 65_535), 8808)
    .option(
      '--header <header>',
      'with --url: "Name: value" to send to the server, such as its token; $VARIABLE is read from the environment; may be repeated',
      parseHeader,
    )
    .addOption(pinFileOption())
    .option('--no-pins', 'screen tool definitions without pinning them')
    .option('--require-approval', 'hide every tool until a person approves it, even on first use')
    .option('--name <name>', "name under which the server's pins are kept (default: derived from its command or URL)")
    .option('--dry-run', 'change nothing: report what would be hidden, denied or replaced')
    .addOption(policyOption())
    .option('--redact', 'remove only the offending passages of results and documents')
    .addOption(choice('--on-error <action>', 'what to do when a text cannot be screened', ['block', 'allow'], 'block'))
    .option('--timeout <ms>', 'time limit of one screening', wholeNumber(1, 600_000), 10_000)
    .addOption(
      new Option('--service <url>', 'screen with a running service, which keeps the evidence')
        .env('PORTCULLIS_SERVICE_URL')
        .argParser(parseUrl),
    )
    .addOption(
      new Option(
        '--key <key>',
        'API key of the service; prefer the variable, since flags are visible in process lists',
      ).env('PORTCULLIS_API_KEY'),
    )
    .option('--report <file>', 'append each enforcement to a file as a line of JSON, without screened text')
    .option('--max-message-bytes <bytes>', 'refuse larger messages', wholeNumber(1_000, 2 ** 30), 32 * 2 ** 20)
    .option('--quiet', 'do not report enforcements on standard error');
  return withIsolation(withScreenerFlags(command)).addHelpText('after', HELP).action(run);
}

interface ReportFlags {
  readonly report?: string;
  readonly quiet?: boolean;
}

/** Writes enforcements to the file and to standard error. Screened text stands in none of them. */
function createReporter(
  { report, quiet }: ReportFlags,
  server: string,
  { tellPin }: Pick<OpenAnalyzer, 'tellPin'>,
): (event: GuardEvent | GatewayEvent) => void {
  const append = createEventFile(report);
  return (event) => {
    if ('event' in event && event.event === 'tool_pin' && event.action !== 'drop') {
      const { tool = '', change = 'changed', action, runId } = event;
      tellPin?.({ server: server.slice(0, 200), tool, change, action, runId });
    }
    const where = 'event' in event ? event.event : event.point;
    const action = event.action === 'report' ? 'would act on' : event.action;
    const proof = 'rule' in event ? ` rule=${event.rule} evidence=${event.evidenceId}` : '';
    const tool = event.tool === undefined ? '' : ` ${event.tool}`;
    if (!quiet) process.stderr.write(`portcullis: ${action} ${where}${tool}: ${event.reason ?? 'blocked'}${proof}\n`);
    append({ server, event: 'screening', ...event });
  };
}
