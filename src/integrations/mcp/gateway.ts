import type { Enforcement, Guard, Point, ScreenCall } from '../../policy/index.js';
import { passes } from '../../policy/index.js';
import {
  errorResponse,
  INTERNAL_ERROR,
  INVALID_REQUEST,
  isObject,
  type JsonObject,
  type Message,
  type MessageId,
  PARSE_ERROR,
  REFUSED,
  readMessages,
} from './messages.js';
import { type PinEvent, shownName } from './pin-event.js';
import { type Judgement, type OfferedTool, type Pins, readTool } from './pins.js';
import { screenResult } from './result-texts.js';

/** What the gateway did in addition to its guard's enforcements. Contains no screened text except a tool's name. */
export interface GatewayEvent {
  readonly event: 'tool_pin' | 'invalid_message' | 'limit';
  readonly runId: string;
  /** The tool's name where it is one, else its digest. */
  readonly tool?: string;
  readonly change?: PinEvent['change'];
  readonly from?: 'client' | 'server';
  readonly action: 'hide' | 'deny' | 'report' | 'drop';
  readonly reason: string;
}

/** The parts of a gateway. */
export interface GatewayOptions {
  readonly guard: Guard;
  /** Undefined: tool definitions are screened but not pinned. */
  readonly pins?: Pins | undefined;
  /** Reports what would be hidden, denied or replaced, and passes it on. The guard's policy has to agree. */
  readonly dryRun?: boolean | undefined;
  readonly report: (event: GatewayEvent) => void;
}

/** What is to be done with a text from one peer. */
export interface Turn {
  /** For the other peer; undefined where nothing is left to pass on. */
  readonly forward: string | undefined;
  /** For the peer that sent it. */
  readonly replies: readonly JsonObject[];
}

/** One exchange of messages: a stdio session, or one HTTP request with its response. */
export interface Connection {
  /** Screens a line or body from the client. Never rejects. */
  fromClient(text: string): Promise<Turn>;
  /** Screens a line, body or event from the server. Never rejects. */
  fromServer(text: string): Promise<Turn>;
  /** Responses to the requests that the server has not answered and never will. */
  fail(reason: string): readonly JsonObject[];
  /** Requests that the server has not answered. */
  readonly waiting: number;
}

/** A gateway in front of one MCP server, on JSON-RPC messages: it knows no transport. */
export interface Gateway {
  connect(): Connection;
  /** Screens a text of the server's that is no JSON-RPC, such as the body of an HTTP error; gives what may be shown. */
  screenText(text: string): Promise<string>;
}

interface Asked {
  readonly id: MessageId;
  readonly method: string;
  readonly params: JsonObject;
  /** Protocol version 2026-07-28 and later: results say their type. */
  readonly isModern: boolean;
  readonly call: ScreenCall;
}

/** Requests that are remembered while they wait; of more, the oldest are screened as responses to an unknown request. */
const MAX_WAITING = 10_000;
/** Tools of one page; more are hidden. */
const MAX_TOOLS = 2_000;
/** Definitions screened at once. */
const AT_ONCE = 8;
/** The `_meta` member in which a host may say which run a request belongs to. */
const RUN_ID = 'portcullis/runId';
const VERSION = 'io.modelcontextprotocol/protocolVersion';
const LISTS = ['prompts', 'resources', 'resourceTemplates'] as const;

export function createGateway({ guard, pins, dryRun = false, report }: GatewayOptions): Gateway {
  /** What the listings of this process said of each tool. */
  const listed = new Map<string, Judgement & { readonly digest: string }>();
  const reported = new Set<string>();

  function tellPin(tool: string, change: NonNullable<GatewayEvent['change']>, digest: string, of?: string): void {
    const key = `${change}\0${tool}\0${digest}`;
    if (reported.has(key)) return;
    if (reported.size < MAX_WAITING) reported.add(key);
    const shown = shownName(tool);
    const reason = PIN_REASONS[change] + (of === undefined ? '' : `: ${shownName(of)}`);
    report({ event: 'tool_pin', runId: guard.runId, tool: shown, change, action: dryRun ? 'report' : 'hide', reason });
  }

  function tellInvalid(from: 'client' | 'server', mistake: string): void {
    report({ event: 'invalid_message', runId: guard.runId, from, action: 'drop', reason: mistake });
  }

  /** Why a tool may not be called; undefined where it may. */
  async function buildRefusal(name: string): Promise<Judgement['change']> {
    const known = listed.get(name);
    if (known === undefined) return (await pins?.judgeUnlisted(name))?.change;
    if (known.change === undefined || pins === undefined) return known.change;
    // It may have been approved since.
    return (await pins.approvedByPerson()).has(known.digest) ? undefined : known.change;
  }

  async function judgeTools(tools: readonly unknown[], asked: Asked | undefined, nextCursor: unknown) {
    // A tool's result that also has a list says nothing of what may be called.
    const isListing = asked === undefined || asked.method === 'tools/list';
    const read = tools.slice(0, MAX_TOOLS).map((value) => ({ value, tool: readTool(value) }));
    const digests = new Map<string, Set<string>>();
    for (const { tool } of read)
      if (tool !== undefined) digests.set(tool.name, (digests.get(tool.name) ?? new Set()).add(tool.digest));
    if (tools.length > MAX_TOOLS)
      report({
        event: 'limit',
        runId: guard.runId,
        action: dryRun ? 'report' : 'hide',
        reason: `a list of more than ${MAX_TOOLS} tools`,
      });
    const approved = (await pins?.approvedByPerson()) ?? new Set<string>();
    const readable = await mapAtOnce(read, async ({ value, tool }) => {
      if (tool === undefined) {
        tellPin('', 'malformed', '');
        return undefined;
      }
      if ((digests.get(tool.name)?.size ?? 0) > 1) {
        tellPin(tool.name, 'repeated', tool.digest);
        if (isListing) listed.set(tool.name, { change: 'changed', digest: tool.digest });
        return undefined;
      }
      const decision = approved.has(tool.digest)
        ? undefined
        : await guard.screen('tool_definition', value, { ...asked?.call, tool: shownName(tool.name) });
      return { value, tool: { ...tool, blocked: decision?.enforcement } };
    });
    const offered = readable.filter((each) => each !== undefined);
    const page = {
      cursor: textOrNone(asked?.params.cursor),
      nextCursor: textOrNone(nextCursor),
      asked: asked !== undefined,
    };
    const judgements: readonly Judgement[] =
      pins === undefined || !isListing
        ? offered.map(({ tool }): Judgement => ({ change: tool.blocked === undefined ? undefined : 'blocked' }))
        : await pins.judge(
            page,
            offered.map(({ tool }): OfferedTool => tool),
          );
    const kept: unknown[] = [];
    for (const [index, { value, tool }] of offered.entries()) {
      const judgement = judgements[index] ?? { change: 'added' };
      const { change } = judgement;
      if (isListing) listed.set(tool.name, { ...judgement, digest: tool.digest });
      // The guard has reported what it blocked or couldn't screen.
      if (change !== undefined && change !== 'blocked' && change !== 'unscreened')
        tellPin(tool.name, change, tool.digest, judgement.of);
      if (change === undefined) kept.push(value);
    }
    return dryRun ? tools : kept;
  }

  async function keepAllowed(items: readonly unknown[], call: ScreenCall): Promise<readonly unknown[]> {
    const kept = await mapAtOnce(items, async (item) => {
      const decision = await guard.screen('tool_definition', item, call);
      return passes(decision) ? [item] : [];
    });
    return kept.flat();
  }

  /** A result as it may be shown; the same object where nothing changes. */
  async function shownResult(result: unknown, asked: Asked | undefined): Promise<unknown | Refused> {
    const call = asked?.call ?? {};
    const point = choosePoint(asked?.method);
    if (!isObject(result)) {
      const screened = await screenResult(guard, point, result, call);
      return screened.enforcement === undefined ? screened.value : new Refused(screened.enforcement);
    }
    const changed: Record<string, unknown> = {};
    const rest: Record<string, unknown> = { ...result };
    if (Array.isArray(result.tools)) {
      delete rest.tools;
      const kept = await judgeTools(result.tools, asked, result.nextCursor);
      if (kept.length !== result.tools.length) changed.tools = kept;
    }
    for (const name of LISTS) {
      const items = result[name];
      if (!Array.isArray(items)) continue;
      delete rest[name];
      const kept = await keepAllowed(items, call);
      if (kept.length !== items.length) changed[name] = kept;
    }
    let removed: readonly string[] = [];
    if (typeof result.instructions === 'string') {
      delete rest.instructions;
      const decision = await guard.screen('document', result.instructions, call);
      if (!passes(decision)) removed = ['instructions'];
      else if (decision.value !== result.instructions) changed.instructions = decision.value;
    }
    // An opaque token that goes back to the server.
    if (typeof rest.nextCursor === 'string') delete rest.nextCursor;
    const screened = await screenResult(guard, point, rest, call);
    if (screened.enforcement !== undefined) return new Refused(screened.enforcement);
    if (screened.value === rest && removed.length === 0 && Object.keys(changed).length === 0) return result;
    const shown = screened.value === rest ? result : { ...result, ...(screened.value as JsonObject) };
    return Object.fromEntries(Object.entries({ ...shown, ...changed }).filter(([name]) => !removed.includes(name)));
  }

  async function shownResponse(raw: JsonObject, asked: Asked | undefined): Promise<JsonObject> {
    const id = (raw.id ?? null) as MessageId | null;
    if (raw.error !== undefined) {
      const screened = await screenResult(guard, 'tool_result', raw.error, asked?.call ?? {});
      if (screened.enforcement === undefined)
        return screened.value === raw.error ? raw : { ...raw, error: screened.value };
      const code = isObject(raw.error) && typeof raw.error.code === 'number' ? raw.error.code : REFUSED;
      return errorResponse(id, code, screened.enforcement.note);
    }
    const shown = await shownResult(raw.result, asked);
    if (shown instanceof Refused) return refusal(id, shown.enforcement, asked, raw.result);
    return shown === raw.result ? raw : { ...raw, result: shown };
  }

  function connect(): Connection {
    const waiting = new Map<string, Asked>();
    /** Requests of the client that are being screened: a cancellation ends that, and neither reaches the server. */
    const underWay = new Map<string, AbortController>();

    function remember(id: MessageId, asked: Asked): void {
      if (waiting.size >= MAX_WAITING) waiting.delete(waiting.keys().next().value as string);
      waiting.set(requestKey(id), asked);
    }

    /** The request that a response answers. Some clients take the id "6" for 6, so that either is found. */
    function take(id: MessageId | null): Asked | undefined {
      if (id === null) return undefined;
      const keys = [requestKey(id), requestKey(typeof id === 'string' ? Number(id) : String(id))];
      const key = keys.find((each) => waiting.has(each));
      const asked = key === undefined ? undefined : waiting.get(key);
      if (key !== undefined) waiting.delete(key);
      return asked;
    }

    async function clientRequest(message: Message & { kind: 'request' }): Promise<Passed> {
      const { id, method, raw } = message;
      const params = isObject(raw.params) ? raw.params : {};
      const meta = isObject(params._meta) ? params._meta : {};
      const runId = meta[RUN_ID];
      const call = typeof runId === 'string' && /^[\w.:-]{1,100}$/.test(runId) ? { runId } : {};
      const asked: Asked = { id, method, params, isModern: VERSION in meta, call };
      if (method === 'tools/call') {
        const { name } = params;
        const tool = typeof name === 'string' ? shownName(name) : undefined;
        const named: Asked = { ...asked, call: { ...call, tool } };
        if (typeof name === 'string') {
          const change = await buildRefusal(name);
          if (change !== undefined) {
            const reason = `${PIN_REASONS[change]}; see portcullis mcp pins list`;
            const action = dryRun ? 'report' : 'deny';
            report({
              event: 'tool_pin',
              runId: call.runId ?? guard.runId,
              tool: shownName(name),
              change,
              action,
              reason,
            });
            if (!dryRun) return { reply: toolRefusal(id, `[denied by portcullis: ${reason}]`, named) };
          }
        }
        const aborted = new AbortController();
        underWay.set(requestKey(id), aborted);
        try {
          const input = { name: name ?? null, arguments: params.arguments ?? {} };
          const decision = await guard.screen('tool_call', input, { ...named.call, signal: aborted.signal });
          if (!passes(decision)) return { reply: refusal(id, decision.enforcement, named, undefined) };
        } catch (error) {
          if (!aborted.signal.aborted) throw error;
          return {};
        } finally {
          underWay.delete(requestKey(id));
        }
        remember(id, named);
        return { forward: raw };
      }
      remember(id, asked);
      return { forward: raw };
    }

    function clientNotification({ method, raw }: Message & { kind: 'notification' }): Passed {
      if (method !== 'notifications/cancelled' || !isObject(raw.params)) return { forward: raw };
      const { requestId } = raw.params;
      const screening =
        typeof requestId === 'string' || typeof requestId === 'number'
          ? underWay.get(requestKey(requestId))
          : undefined;
      if (screening === undefined) return { forward: raw };
      screening.abort();
      return {};
    }

    async function fromClientMessage(message: Message): Promise<Passed> {
      if (message.kind === 'request') return clientRequest(message);
      if (message.kind === 'notification') return clientNotification(message);
      if (message.kind === 'response') return { forward: message.raw };
      tellInvalid('client', message.mistake);
      const code = message.mistake === 'not valid JSON' ? PARSE_ERROR : INVALID_REQUEST;
      return { reply: errorResponse(message.id, code, `portcullis: ${message.mistake}`) };
    }

    async function fromServerMessage(message: Message): Promise<Passed> {
      if (message.kind === 'response') {
        const asked = take(message.id);
        try {
          return { forward: await shownResponse(message.raw, asked) };
        } catch (error) {
          return { forward: failed(message.id, error) };
        }
      }
      if (message.kind === 'notification' || message.kind === 'request') {
        if (message.method === 'notifications/tools/list_changed') pins?.endFirstUse();
        const screened = await screenResult(guard, 'document', message.raw, {});
        if (screened.enforcement === undefined) return { forward: screened.value as JsonObject };
        return message.kind === 'request'
          ? { reply: errorResponse(message.id, REFUSED, screened.enforcement.note) }
          : {};
      }
      tellInvalid('server', message.mistake);
      take(message.id);
      if (message.id === null) return {};
      const reason = `portcullis: the server's response is unusable: ${message.mistake}`;
      return { forward: errorResponse(message.id, INTERNAL_ERROR, reason) };
    }

    /** Tells the client of a failure of ours, so that it doesn't wait. */
    function failed(id: MessageId | null, error: unknown): JsonObject {
      const reason = error instanceof Error && error.name === 'PinFileError' ? error.message : 'screening failed';
      report({ event: 'invalid_message', runId: guard.runId, from: 'server', action: 'drop', reason });
      return errorResponse(id, INTERNAL_ERROR, `portcullis: ${reason}`);
    }

    async function turn(text: string, each: (message: Message) => Promise<Passed>): Promise<Turn> {
      const { messages, isBatch, text: written } = readMessages(text);
      const passed = await Promise.all(messages.map(each));
      const forwarded = passed.flatMap(({ forward }) => (forward === undefined ? [] : [forward]));
      const replies = passed.flatMap(({ reply }) => (reply === undefined ? [] : [reply]));
      const isUnchanged =
        forwarded.length === messages.length &&
        messages.every((message, index) => message.kind !== 'invalid' && message.raw === forwarded[index]);
      // As it was written: another writer would lose the digits of long numbers.
      if (isUnchanged) return { forward: written, replies };
      if (forwarded.length === 0) return { forward: undefined, replies };
      return { forward: JSON.stringify(isBatch ? forwarded : forwarded[0]), replies };
    }

    return {
      async fromClient(text) {
        return turn(text, async (message) => {
          try {
            return await fromClientMessage(message);
          } catch (error) {
            return message.kind === 'request' ? { reply: failed(message.id, error) } : {};
          }
        });
      },
      fromServer: (text) => turn(text, fromServerMessage),
      fail(reason) {
        const ids = [...waiting.values()].map(({ id }) => id);
        waiting.clear();
        return ids.map((id) => errorResponse(id, INTERNAL_ERROR, `portcullis: ${reason}`));
      },
      get waiting() {
        return waiting.size;
      },
    };
  }

  return {
    connect,
    async screenText(text) {
      const decision = await guard.screen('tool_result', text);
      return passes(decision) ? decision.value : decision.enforcement.note;
    },
  };
}

interface Passed {
  readonly forward?: JsonObject;
  readonly reply?: JsonObject;
}

/** A result that may not be shown. */
class Refused {
  readonly enforcement: Enforcement;

  constructor(enforcement: Enforcement) {
    this.enforcement = enforcement;
  }
}

const PIN_REASONS: Readonly<Record<NonNullable<GatewayEvent['change']>, string>> = {
  added: 'the tool is new and not approved',
  changed: 'the tool has changed since it was approved',
  renamed: 'the tool has a new name and is not approved',
  lookalike: 'the name of the tool is easily taken for another',
  blocked: 'the definition of the tool was blocked',
  unscreened: 'the definition of the tool could not be screened',
  malformed: 'a tool without a name, or with one that clients read differently',
  repeated: 'the tool is listed twice',
};

/** The response in place of a refused request or result, in the form that its method has. */
function refusal(
  id: MessageId | null,
  { note, runId, evidenceId, rule, cause, action }: Enforcement,
  asked: Asked | undefined,
  result: unknown,
): JsonObject {
  const proof = { runId, evidenceId, rule, cause, action };
  const isTool = asked === undefined ? isObject(result) && 'content' in result : TOOL_METHODS.has(asked.method);
  return isTool ? toolRefusal(id, note, asked, proof, result) : errorResponse(id, REFUSED, note, { portcullis: proof });
}

/** Methods with the result of a tool. */
const TOOL_METHODS = new Set(['tools/call', 'tasks/result']);

function toolRefusal(
  id: MessageId | null,
  note: string,
  asked: Asked | undefined,
  proof?: JsonObject,
  result?: unknown,
): JsonObject {
  const isModern = asked?.isModern ?? (isObject(result) && 'resultType' in result);
  return {
    jsonrpc: '2.0',
    id,
    result: {
      ...(isModern ? { resultType: 'complete' } : {}),
      content: [{ type: 'text', text: note }],
      // Without it a client checks the result against the tool's output schema.
      isError: true,
      ...(proof === undefined ? {} : { _meta: { 'portcullis/enforcement': proof } }),
    },
  };
}

function choosePoint(method: string | undefined): Extract<Point, 'document' | 'tool_result'> {
  return method === undefined || method.startsWith('tools/') || method.startsWith('tasks/')
    ? 'tool_result'
    : 'document';
}

function requestKey(id: MessageId): string {
  return `${typeof id} ${id}`;
}

function textOrNone(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

async function mapAtOnce<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) results[index] = await work(items[index] as Item);
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, worker));
  return results;
}
