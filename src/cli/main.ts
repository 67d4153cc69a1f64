#!/usr/bin/env node
import { Command, CommanderError } from 'commander';
import { packageVersion } from '../adapters/package-version.js';
import { PortcullisError } from '../engine/errors.js';

/** Commands by name. Only the command that runs is loaded, to keep cold starts fast. */
const COMMANDS = {
  analyze: async () => (await import('./screen/analyze.js')).analyzeCommand(),
  batch: async () => (await import('./screen/batch.js')).batchCommand(),
  scorer: async () => (await import('./screen/scorer.js')).scorerCommand(),
  eval: async () => (await import('./measure/eval.js')).evalCommand(),
  tune: async () => (await import('./measure/tune.js')).tuneCommand(),
  rules: async () => (await import('./rules/command.js')).rulesCommand(),
  serve: async () => (await import('./serve.js')).serveCommand(),
  replay: async () => (await import('./replay.js')).replayCommand(),
  doctor: async () => (await import('./doctor.js')).doctorCommand(),
  info: async () => (await import('./info.js')).infoCommand(),
  flow: async () => (await import('./flow/command.js')).flowCommand(),
  hook: async () => (await import('./hook/command.js')).hookCommand(),
  try: async () => (await import('./screen/try.js')).tryCommand(),
  'mcp-proxy': async () => (await import('./mcp/proxy-command.js')).mcpProxyCommand(),
  mcp: async () => (await import('./mcp/pins-command.js')).mcpCommand(),
  admin: async () => (await import('./admin/command.js')).adminCommand(),
} satisfies Readonly<Record<string, () => Promise<Command>>>;

function isCommand(name: string | undefined): name is keyof typeof COMMANDS {
  return name !== undefined && Object.hasOwn(COMMANDS, name);
}

const VERSION_FLAGS = '-V, --version';

async function program(asked: string | undefined): Promise<Command> {
  const isVersion = asked !== undefined && VERSION_FLAGS.split(', ').includes(asked);
  const wanted = isCommand(asked) ? [COMMANDS[asked]] : isVersion ? [] : Object.values(COMMANDS);
  const root = new Command('portcullis')
    .description('Screens text for prompt injection before it reaches a tool.')
    .version(packageVersion(), VERSION_FLAGS)
    // Options after a subcommand are its own.
    .enablePositionalOptions()
    .showHelpAfterError('Run "portcullis --help" for the commands, "portcullis COMMAND --help" for their options.');
  for (const load of wanted) root.addCommand(await load());
  const throwInstead = (command: Command): void => {
    command.exitOverride();
    command.commands.forEach(throwInstead);
  };
  throwInstead(root);
  return root;
}

function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof PortcullisError) {
    process.stderr.write(`portcullis: ${error.message}\n`);
    return 2;
  }
  const where = process.env.PORTCULLIS_DEBUG && error instanceof Error ? `\n${error.stack}` : '';
  process.stderr.write(
    `portcullis: internal error: ${error instanceof Error ? error.message : 'unknown error'}. Set PORTCULLIS_DEBUG=1 for the stack.${where}\n`,
  );
  return 2;
}

// `portcullis … | head` closes the pipe early: that ends the work and is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 2));

try {
  const root = await program(process.argv[2]);
  await root.parseAsync(process.argv);
} catch (error) {
  process.exitCode = report(error);
}
