import { checkOptions, type Known } from '../engine/options.js';
import { createOwnTexts, type OwnTexts } from './own-texts.js';
import { ASK_TIMEOUT_MS, checkPolicy, DEFAULT_POLICY, type GuardEvent, type Policy } from './policy.js';
import type { OnAsk } from './run/ask.js';
import { createEffects, type Effects } from './run/effects.js';
import type { FlowPolicy } from './run/flow-policy.js';
import type { Judge } from './run/judge.js';
import type { CallRules } from './run/rule-call.js';
import { createRuns, newRunId, type RunMemory, type Runs } from './run/run-memory.js';
import type { RunLog } from './run/run-state.js';
import type { ToolPolicy } from './run/tool-policy.js';
import { type Analyzer, type CacheOptions, createScreener, type Screener } from './screener.js';

/** Options of a guard. */
export interface GuardOptions {
  /** Screens in this process. Without `engine` and `client`: the library's default engine, opened by the first call. */
  readonly engine?: Analyzer | undefined;
  /** Screens at a service: `createClient` of `portcullis/client`. */
  readonly client?: Analyzer | undefined;
  /** Actions for a blocked text, by point. Defaults: `DEFAULT_POLICY`. */
  readonly on?: (Partial<Omit<Policy, 'flow'>> & { readonly flow?: Partial<FlowPolicy> | undefined }) | undefined;
  /** Effects of tools, by name. Default: as the host says, the tool's annotations, or the verb of its name. */
  readonly tools?: Readonly<Record<string, ToolPolicy>> | undefined;
  /** Asks a person where `on.flow` says `ask`. Without it the host is told to ask; a host that can't denies the call. */
  readonly onAsk?: OnAsk | undefined;
  /** Milliseconds in which a person must answer. Default 60,000. */
  readonly askTimeoutMs?: number | undefined;
  /**
   * Asks a model whether a call that `on.flow` would deny or ask about serves the task. Where it says so the call is made and
   * reported; else, and where it fails, the policy's action is taken.
   */
  readonly judge?: Judge | undefined;
  /** Milliseconds in which the judge must answer. Default 10,000. */
  readonly judgeTimeoutMs?: number | undefined;
  /** Keeps runs outside of the process. What it throws rejects the screening. */
  readonly runLog?: RunLog | undefined;
  /** Action for a text that could not be screened, also not in time. Default `block`. */
  readonly onError?: 'block' | 'allow' | undefined;
  /** Action for binary data and streams, whose text can't be read. Default `report`: they pass, and the event names them. */
  readonly unreadable?: 'report' | 'block' | undefined;
  /** Milliseconds for one screening; keep it below the host's own deadline. Default 10,000. */
  readonly timeoutMs?: number | undefined;
  /** Fences tool results and documents that are strings, so that a model can tell them from instructions. Default false. */
  readonly quoteUntrusted?: boolean | undefined;
  /** Verdicts are remembered by the SHA-256 of channel, task and text; false screens every time. */
  readonly cache?: CacheOptions | false | undefined;
  /** Told of every screening and enforcement. What it throws rejects the call. */
  readonly report?: ((event: GuardEvent) => void) | undefined;
}

const GUARD_OPTIONS: Known<GuardOptions> = {
  engine: true,
  client: true,
  on: true,
  tools: true,
  onAsk: true,
  askTimeoutMs: true,
  judge: true,
  judgeTimeoutMs: true,
  runLog: true,
  onError: true,
  unreadable: true,
  timeoutMs: true,
  quoteUntrusted: true,
  cache: true,
  report: true,
};

/** State that all screenings of a guard share: its options with their defaults, and its memory. */
export interface Setup extends CallRules {
  readonly policy: Policy;
  readonly onError: 'block' | 'allow';
  readonly unreadable: 'report' | 'block';
  readonly timeoutMs: number;
  readonly screener: Screener;
  readonly own: OwnTexts;
  readonly effects: Effects;
  readonly runs: Runs;
  /** Id of what belongs to no run. */
  readonly ownRun: string;
  /** Tells the guard's `report` of an event, then that of the call, within its run. */
  tell(event: GuardEvent, call: Pick<GuardOptions, 'report'>, run: RunMemory | undefined): void;
}

/** @throws TypeError where both `engine` and `client` are given, or for an option that does not exist; RangeError for a bad deadline */
export function readOptions(options: GuardOptions): Setup {
  checkOptions('createGuard', options, GUARD_OPTIONS);
  const { engine, client, on, onError = 'block', unreadable = 'report', timeoutMs = 10_000, cache = {} } = options;
  const { onAsk, askTimeoutMs = ASK_TIMEOUT_MS, judge, judgeTimeoutMs = 10_000, report } = options;
  if (engine !== undefined && client !== undefined)
    throw new TypeError('give createGuard an engine or a client, not both');
  if (onError !== 'block' && onError !== 'allow') throw new TypeError("onError is 'block' or 'allow'");
  if (unreadable !== 'report' && unreadable !== 'block') throw new TypeError("unreadable is 'report' or 'block'");
  for (const [name, limit] of Object.entries({ askTimeoutMs, judgeTimeoutMs }))
    if (!(limit > 0 && limit < 2 ** 31)) throw new RangeError(`${name} must be a positive number`);
  checkJudge(judge);
  const chosen = Object.entries(on ?? {}).filter(([, action]) => action !== undefined);
  const flow: FlowPolicy = { ...DEFAULT_POLICY.flow, ...on?.flow };
  const policy: Policy = { ...DEFAULT_POLICY, ...Object.fromEntries(chosen), flow };
  checkPolicy(policy);
  const analyzer = engine ?? client;
  const runs = createRuns(options.runLog, judge !== undefined);
  return {
    ...{ policy, onAsk, askTimeoutMs, judge, judgeTimeoutMs, onError, unreadable, timeoutMs },
    screener: createScreener(analyzer === undefined ? openDefault : () => analyzer, timeoutMs, cache),
    own: createOwnTexts(options.quoteUntrusted ?? false),
    effects: createEffects(options.tools),
    runs,
    ownRun: newRunId(),
    tell(event, call, run) {
      const told = [report, call.report].filter((each) => each !== undefined);
      const tellAll = (): void => {
        for (const each of told) each(event);
      };
      if (run === undefined) tellAll();
      else if (told.length > 0) runs.within(run, tellAll);
    },
  };
}

/** @throws TypeError for a judge that is neither a function nor an endpoint */
function checkJudge(judge: unknown): void {
  if (judge === undefined || typeof judge === 'function') return;
  const { url, model } = (judge ?? {}) as { readonly url?: unknown; readonly model?: unknown };
  const isEndpoint = typeof url === 'string' && /^https?:/.test(url) && URL.canParse(url);
  if (!isEndpoint || typeof model !== 'string')
    throw new TypeError('judge is a function, or an endpoint: url and model');
}

async function openDefault(): Promise<Analyzer> {
  const { defaultEngine } = await import('../adapters/default-engine.js');
  return defaultEngine();
}
