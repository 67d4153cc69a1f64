import { PortcullisError } from '../../engine/errors.js';
import {
  answerHook,
  failedHook,
  HOOK_EVENTS,
  type HookEvent,
  type HookOutput,
  isBlocking,
} from '../../integrations/claude-agent/answer-hook.js';
import { type Analyzer, createGuard } from '../../policy/index.js';
import { type EngineFlags, openEngine } from '../engine-flags.js';
import { createEventFile } from '../event-file.js';
import { readPolicy } from '../policy-file.js';
import { CliError } from '../terminal.js';
import type { PolicyFlags } from './install.js';
import { openSessionLog, stateFolder } from './session-log.js';

export interface HookFlags extends EngineFlags, PolicyFlags {
  readonly trust?: readonly string[];
  readonly policy?: string;
  readonly report?: string;
  readonly state?: string;
  readonly service?: string;
  readonly key?: string;
  readonly onError: 'block' | 'allow';
  readonly timeout: string;
  readonly maxBytes: string;
}

interface HookRun {
  readonly output: HookOutput;
  /** For stderr: why a text was blocked, or allowed although it could not be screened. */
  readonly said?: string | undefined;
}

/**
 * Reads an event from standard input and answers it. Whatever goes wrong blocks, unless `--on-error allow`.
 * Exit code 2 with the reason on stderr blocks in every host that knows these hooks; the JSON says more to Claude Code.
 */
export async function runHook(flags: HookFlags): Promise<void> {
  let run: HookRun;
  try {
    run = await answered(flags);
  } catch (error) {
    run = failed(flags, describeError(error));
  }
  const { output, said } = run;
  if (said !== undefined) process.stderr.write(`portcullis hook: ${said}\n`);
  const code = isBlocking(output) ? 2 : 0;
  const text = Object.keys(output).length === 0 ? '' : `${JSON.stringify(output)}\n`;
  // A kept connection or a model's process would hold this one back.
  await new Promise<void>((resolve) => process.stdout.write(text, () => resolve()));
  process.exit(code);
}

async function answered(flags: HookFlags): Promise<HookRun> {
  const event = readEvent(await readInput(positive('--max-bytes', flags.maxBytes)));
  if (!HOOK_EVENTS.some((name) => name === event.hook_event_name)) return { output: {} };
  const timeoutMs = positive('--timeout', flags.timeout);
  let failure: string | undefined;
  const inner = await open(flags, timeoutMs);
  const engine: Analyzer = {
    analyze: (input, options) =>
      inner.analyze(input, options).catch((error: unknown) => {
        failure = describeError(error);
        throw error;
      }),
  };
  const { user, toolCall, toolResult, suspicious, foreign, trust, onError, state = stateFolder() } = flags;
  const { on, tools } = readPolicy(flags.policy);
  const append = createEventFile(flags.report);
  const guard = createGuard({
    engine,
    tools,
    onError,
    timeoutMs,
    runLog: openSessionLog(state, readsTask(flags)),
    on: {
      ...on,
      flow: {
        ...on?.flow,
        ...(suspicious === undefined ? {} : { suspicious }),
        ...(foreign === undefined ? {} : { foreign }),
        ...(trust === undefined ? {} : { trusted: trust }),
      },
      ...(user === undefined ? {} : { user }),
      ...(toolCall === undefined ? {} : { tool_call: toolCall }),
      ...(toolResult === undefined ? {} : { tool_result: toolResult }),
    },
    report: (event) => {
      if (event.cause === 'timeout') failure ??= `no verdict within ${timeoutMs} ms`;
      if (event.action !== 'allow' || event.verdict === 'error') append(event);
    },
  });
  const output = await answerHook(guard, event);
  if (failure !== undefined && onError === 'allow') return failed(flags, failure);
  const { reason, stopReason, hookSpecificOutput: specific } = output;
  const denied = specific?.hookEventName === 'PreToolUse' ? specific.permissionDecisionReason : undefined;
  const note = isBlocking(output) ? (reason ?? stopReason ?? denied) : undefined;
  return { output, said: failure === undefined ? note : `${note ?? 'blocked.'} (${failure})` };
}

/** Whether a model judges, to which the user's task is evidence: it is kept as text for it alone. */
function readsTask({ service, mode, model, operatingPoint }: HookFlags): boolean {
  return (
    service !== undefined || (mode !== 'rules' && [mode, model, operatingPoint].some((flag) => flag !== undefined))
  );
}

function failed({ onError }: HookFlags, reason: string): HookRun {
  const said = `the text could not be screened: ${reason.replace(/\.$/, '')}`;
  if (onError === 'allow') return { output: { systemMessage: `portcullis: ${said}; it was allowed.` }, said };
  return { output: failedHook(`Blocked by portcullis: ${said}.`), said };
}

async function open(flags: HookFlags, timeoutMs: number): Promise<Analyzer> {
  const { service, key, mode, pack, overlay, model, operatingPoint } = flags;
  if (service !== undefined) {
    if (!URL.canParse(service) || !/^https?:/.test(service))
      throw new CliError('--service takes an http or https URL, e.g. http://127.0.0.1:8080');
    if (key === undefined || key === '') throw new CliError('--service needs a key in PORTCULLIS_API_KEY');
    const { createClient } = await import('../../client.js');
    return createClient({ baseUrl: service, apiKey: key, timeoutMs });
  }
  if ([mode, pack, overlay, model, operatingPoint].every((flag) => flag === undefined)) {
    // A process for each event: the rules alone are there in a fraction of the time.
    const { createEngine } = await import('../../adapters/create-engine.js');
    return createEngine({ model: false });
  }
  const rulesAlone = mode === undefined && model === undefined && operatingPoint === undefined;
  return openEngine(rulesAlone ? { ...flags, mode: 'rules' } : flags);
}

/** Standard input whole, or not at all: the rest of a larger one is read and forgotten, so that the host can write it. */
async function readInput(maxBytes: number): Promise<string> {
  if (process.stdin.isTTY)
    throw new CliError(
      'this command reads an event of Claude Code from standard input; "portcullis hook install" sets it up',
    );
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of process.stdin) {
    length += (chunk as Buffer).length;
    if (length <= maxBytes) chunks.push(chunk as Buffer);
    else chunks.length = 0;
  }
  if (length > maxBytes) throw new CliError(`the event has ${length} bytes, more than --max-bytes ${maxBytes}`);
  return Buffer.concat(chunks).toString('utf8');
}

function readEvent(text: string): HookEvent {
  let event: unknown;
  try {
    event = JSON.parse(text);
  } catch {
    // Without the parser's words: they quote the text.
    throw new CliError(text.trim() === '' ? 'standard input is empty' : 'standard input is not JSON');
  }
  if (typeof event !== 'object' || event === null || Array.isArray(event))
    throw new CliError('standard input is not a JSON object');
  if (typeof (event as HookEvent).hook_event_name !== 'string')
    throw new CliError('the event has no `hook_event_name`');
  return event;
}

function positive(flag: string, given: string): number {
  const value = Number(given);
  if (!Number.isInteger(value) || value < 1 || value >= 2 ** 31)
    throw new CliError(`${flag} takes a positive whole number`);
  return value;
}

/** Describes a failure; the messages of other errors may quote the text. */
function describeError(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  return error instanceof PortcullisError ? error.message : `unexpected ${error.name}`;
}
