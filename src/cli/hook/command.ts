import { Command, Option } from 'commander';
import { choice, withScreenerFlags } from '../engine-flags.js';
import { policyOption } from '../policy-file.js';
import { type InstallFlags, installHooks, type Scope, uninstallHooks } from './install.js';
import { type HookFlags, runHook } from './run-hook.js';

function withPolicyFlags(command: Command): Command {
  return command
    .addOption(choice('--user <action>', 'what to do with a blocked prompt (default: refuse)', ['refuse', 'report']))
    .addOption(
      choice('--tool-call <action>', 'what to do with a blocked tool call (default: deny)', ['deny', 'ask', 'report']),
    )
    .addOption(
      choice('--tool-result <action>', 'what to do with a blocked tool result (default: replace)', [
        'replace',
        'redact',
        'stop',
        'report',
      ]),
    )
    .addOption(
      choice(
        '--suspicious <action>',
        'what to do with a call that carries a value or words of a suspicious result (default: deny)',
        ['deny', 'ask', 'report'],
      ),
    )
    .addOption(
      choice(
        '--foreign <action>',
        'what to do with a call that sends to an address from any result (default: report)',
        ['report', 'ask', 'deny'],
      ),
    );
}

function withScope(command: Command): Command {
  return command
    .addOption(
      choice(
        '--scope <scope>',
        'project: .claude/settings.json; local: .claude/settings.local.json; user: ~/.claude',
        ['project', 'local', 'user'],
        'project' satisfies Scope,
      ),
    )
    .option('-y, --yes', 'write without asking');
}

function installCommand(): Command {
  return withPolicyFlags(withScope(new Command('install')))
    .description('add the hooks to the settings of Claude Code, after showing the change')
    .option(
      '--service <url>',
      'install HTTP hooks that call a running service, with the key from PORTCULLIS_API_KEY; no process per event',
    )
    .argument('[flags...]', 'after "--": flags for "portcullis hook", e.g. -- --on-error allow --mode hybrid')
    .action((extra: readonly string[], flags: InstallFlags) => installHooks(flags, extra));
}

function uninstallCommand(): Command {
  return withScope(new Command('uninstall'))
    .description('remove these hooks from the settings and leave everything else')
    .action(uninstallHooks);
}

/** `portcullis hook`: one event of Claude Code; `hook install` and `hook uninstall` write its settings. */
export function hookCommand(): Command {
  return withScreenerFlags(
    withPolicyFlags(
      new Command('hook')
        .description(
          'screen a Claude Code hook event, read as JSON from standard input; exits with 2 to block, 0 otherwise',
        )
        // Flags after `install` are those of `install`.
        .enablePositionalOptions(),
    )
      .addOption(
        new Option('--service <url>', 'screen with a running service; its key is read from PORTCULLIS_API_KEY').env(
          'PORTCULLIS_SERVICE',
        ),
      )
      // By the environment alone: a flag is seen in lists of processes.
      .addOption(new Option('--key <secret>').env('PORTCULLIS_API_KEY').hideHelp())
      .addOption(
        choice('--on-error <action>', 'what to do when an event cannot be screened', ['block', 'allow'], 'block'),
      )
      .option('--trust <names...>', 'tools whose results, and domains whose addresses, count as the words of the user')
      .addOption(policyOption())
      .option('--report <file>', 'append each enforcement to a file as a line of JSON, without screened text')
      .option(
        '--state <folder>',
        'where sessions are remembered, as digests (default: portcullis/sessions in the state folder of the user)',
      )
      .option('--timeout <ms>', 'time limit of one screening', '10000')
      .option('--max-bytes <bytes>', 'larger events count as events that cannot be screened', '8388608'),
  )
    .addCommand(installCommand())
    .addCommand(uninstallCommand())
    .action((flags: HookFlags) => runHook(flags));
}
