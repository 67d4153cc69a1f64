import { homedir } from 'node:os';
import { join } from 'node:path';
import { Command, Option } from 'commander';
import { visibleText } from '../../engine/text/visible-text.js';
import type { OfferedDefinition, PinnedServer, PinnedTool } from '../../integrations/mcp/pin-file.js';
import type { KnownEffect } from '../../policy/index.js';
import { policyOption, readPolicy } from '../policy-file.js';
import { CliError, type Paint, paintFor } from '../terminal.js';

interface PinFlags {
  readonly pins: string;
  readonly json?: boolean;
  readonly all?: boolean;
  readonly policy?: string;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function listServers({ pins }: PinFlags, name?: string): Promise<readonly PinnedServer[]> {
  const { readPins } = await import('../../integrations/mcp/pin-file.js');
  const servers = await readPins(pins);
  if (name === undefined) return servers;
  const found = servers.filter((server) => server.name === name);
  if (found.length > 0) return found;
  const known = servers.map((server) => visibleText(server.name)).join(', ') || 'none';
  throw new CliError(`no server of that name has pins; known: ${known}`);
}

function describeState({ approved, offered }: PinnedTool): string {
  if (offered === undefined) return approved?.by === 'person' ? 'approved' : 'trusted on first use';
  if (offered.rejected) return 'rejected';
  return `${CHANGES[offered.change]}, pending approval`;
}

const CHANGES: Readonly<Record<OfferedDefinition['change'], string>> = {
  added: 'new',
  changed: 'changed',
  renamed: 'renamed',
  lookalike: 'looks like another name',
  blocked: 'blocked by the engine',
  unscreened: 'not screened yet',
};

async function list(server: string | undefined, flags: PinFlags): Promise<void> {
  const servers = await listServers(flags, server);
  const { createEffects } = await import('../../policy/run/effects.js');
  const { tools: declared } = readPolicy(flags.policy);
  const effectOf = ({ name, approved, offered }: PinnedTool): KnownEffect => {
    const effects = createEffects(declared);
    for (const { definition } of [approved, offered].filter((each) => each !== undefined))
      if (definition !== undefined) effects.readDefinition(name, JSON.parse(definition));
    return effects.of(name);
  };
  if (flags.json) {
    const shown = servers.map(({ tools, ...rest }) => ({
      ...rest,
      tools: tools.map((tool) => ({
        name: tool.name,
        state: describeState(tool),
        ...effectOf(tool),
        approved: withoutDefinition(tool.approved),
        offered: withoutDefinition(tool.offered),
      })),
    }));
    say(JSON.stringify(shown, null, 2));
    return;
  }
  const paint = paintFor(process.stdout);
  if (servers.length === 0) say('No pins yet: the first tools/list through portcullis mcp-proxy creates them.');
  for (const { name, since, tools } of servers) {
    say(`${paint.bold(visibleText(name))}  since ${since.slice(0, 10)}`);
    for (const tool of tools) {
      const { offered } = tool;
      const of = offered?.of === undefined ? '' : ` (${visibleText(offered.of)})`;
      const proof =
        offered?.rule === undefined ? '' : `  rule=${offered.rule} evidence=${offered.evidenceId ?? 'none'}`;
      const { effect, why } = effectOf(tool);
      const state = offered === undefined || offered.rejected ? describeState(tool) : paint.red(describeState(tool));
      say(`  ${visibleText(tool.name)}  ${state}${of}  ${effect} (${why})${proof}`);
    }
  }
}

function withoutDefinition(pin: { readonly definition?: string | undefined } | undefined): object | undefined {
  if (pin === undefined) return undefined;
  const { definition: _, ...rest } = pin;
  return rest;
}

async function show(server: string, name: string, flags: PinFlags): Promise<void> {
  const [found] = await listServers(flags, server);
  const tool = found?.tools.find((each) => each.name === name);
  if (tool === undefined) throw new CliError('the server has no tool of that name; see portcullis mcp pins list');
  const paint = paintFor(process.stdout);
  const [approved, offered] = [formatLines(tool.approved), formatLines(tool.offered)];
  say(`${visibleText(tool.name)}: ${describeState(tool)}`);
  if (tool.approved !== undefined) sayDefinition('approved', tool.approved, approved, offered, '-', paint);
  if (tool.offered !== undefined) sayDefinition('offered', tool.offered, offered, approved, '+', paint);
}

/** One definition; the lines that the other hasn't are marked. */
function sayDefinition(
  title: string,
  { digest, at }: { readonly digest: string; readonly at: string },
  lines: readonly string[],
  others: readonly string[],
  mark: string,
  paint: Paint,
): void {
  say(paint.bold(`\n${title} ${at.slice(0, 10)}, SHA-256 ${digest}`));
  const known = new Set(others);
  for (const line of lines) say(others.length > 0 && !known.has(line) ? paint.red(`${mark} ${line}`) : `  ${line}`);
}

function formatLines(pin: { readonly definition?: string | undefined } | undefined): readonly string[] {
  if (pin === undefined) return [];
  if (pin.definition === undefined) return ['(not stored, for its length or for lack of room; see the server)'];
  return JSON.stringify(JSON.parse(pin.definition), null, 2).split('\n').map(visibleText);
}

async function edit(
  action: 'approve' | 'reject',
  server: string,
  tools: readonly string[],
  flags: PinFlags,
): Promise<void> {
  if ((tools.length === 0) === !flags.all)
    throw new CliError(`Name the tools to ${action}, or use --all for all pending ones.`);
  await listServers(flags, server);
  const { approvePins, rejectPins } = await import('../../integrations/mcp/pins.js');
  const change = action === 'approve' ? approvePins : rejectPins;
  sayEdit(action === 'approve' ? 'approved' : 'rejected', await change(flags.pins, server, flags.all ? 'all' : tools));
  const edited = new Set((await listServers(flags, server)).flatMap(({ tools: now }) => now.map(({ name }) => name)));
  const unknown = tools.filter((tool) => !edited.has(tool));
  if (unknown.length > 0) throw new CliError(`the server has no such tool: ${unknown.map(visibleText).join(', ')}`);
}

async function reset(server: string, flags: PinFlags): Promise<void> {
  await listServers(flags, server);
  const { resetPins } = await import('../../integrations/mcp/pins.js');
  sayEdit('forgotten', await resetPins(flags.pins, server));
}

function sayEdit(what: string, tools: readonly string[]): void {
  say(tools.length === 0 ? `nothing ${what}: nothing is pending` : `${what}: ${tools.map(visibleText).join(', ')}`);
}

/** `portcullis mcp`: manages the pins of `mcp-proxy`. */
export function mcpCommand(): Command {
  const pins = new Command('pins').description('list, approve and reject pinned tool definitions');
  const add = (name: string, description: string): Command =>
    pins.command(name).description(description).addOption(pinFileOption());
  add('list [server]', 'list servers, their tools with what each is taken to do and why, and pending approvals')
    .option('--json', 'print JSON')
    .addOption(policyOption())
    .action(list);
  add('show <server> <tool>', 'show the approved definition of a tool next to the one now offered').action(show);
  add('approve <server> [tools...]', 'approve the definitions now offered, even if the engine blocked them')
    .option('--all', 'all pending definitions')
    .action((server: string, tools: readonly string[], flags: PinFlags) => edit('approve', server, tools, flags));
  add(
    'reject <server> [tools...]',
    'keep tools hidden and no longer list them as pending; earlier approvals stay in force',
  )
    .option('--all', 'all pending definitions')
    .action((server: string, tools: readonly string[], flags: PinFlags) => edit('reject', server, tools, flags));
  add('reset <server>', 'delete the pins of a server; its next listing is trusted on first use').action(reset);
  return new Command('mcp').description('manage the tool definitions that mcp-proxy has pinned').addCommand(pins);
}

function defaultPath(): string {
  const { APPDATA, XDG_CONFIG_HOME } = process.env;
  const config = (process.platform === 'win32' ? APPDATA : XDG_CONFIG_HOME) || join(homedir(), '.config');
  return join(config, 'portcullis', 'mcp-pins.json');
}

export function pinFileOption(): Option {
  return new Option('--pins <file>', 'where approved tool definitions are kept')
    .env('PORTCULLIS_MCP_PINS')
    .default(defaultPath(), '~/.config/portcullis/mcp-pins.json');
}
