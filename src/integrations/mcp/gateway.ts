import { errorCode } from '../../engine/errors.js';
import { type Guard, type OnAsk, passes, type ScreenCall } from '../../policy/index.js';
import { isObject, type JsonObject } from '../json-value.js';
import { type CallOutcome, type ClientQuestions, HeldCalls } from './client-questions.js';
import { isId, type Message, type MessageId, readMessages } from './messages.js';
import {
  type Asked,
  errorResponse,
  INTERNAL_ERROR,
  INVALID_REQUEST,
  PARSE_ERROR,
  REFUSED,
  readRequest,
  refusal,
  requestKey,
  toolRefusal,
  WaitingRequests,
} from './requests.js';
import { screenServerValue } from './screen-values.js';
import { type ResponseScreening, screenResponse } from './shown-responses.js';
import { type GatewayOptions, ToolList } from './tool-list.js';

/** A client, and the person behind it. */
export interface AskedClient {
  /** Whether it is a process of the operator's own: only such a one may name the run that a request belongs to. */
  readonly namesRuns: boolean;
  /** Those of its session. */
  questions(): ClientQuestions;
  /** Sends it a message of the gateway's own; undefined where it reads none. */
  readonly send: ((message: JsonObject) => void) | undefined;
}

export interface Passed {
  /** For the other peer; undefined where nothing is left to pass on. */
  readonly forward?: JsonObject;
  /** For the peer that sent it. */
  readonly reply?: JsonObject;
  /** Errors for the client, of requests that get no other response. */
  readonly failed?: readonly JsonObject[];
  /** Of a call that a person is asked about: the decision, once there is an answer. */
  readonly later?: Promise<Passed> | undefined;
}

export interface PassedText extends Pick<Passed, 'failed'> {
  readonly forward: string | undefined;
  readonly replies: readonly JsonObject[];
  readonly later?: Promise<PassedText> | undefined;
}

/** A gateway in front of one MCP server, on JSON-RPC messages: it knows no transport. */
export interface Gateway {
  /**
   * Begins an exchange. `session` gives the object whose run it belongs to, or undefined where clients without a session share the
   * guard's current run; without it, that run is the client's own. Without `client` nobody is asked.
   */
  connect(session?: () => object | undefined, client?: AskedClient): Connection;
}

export function createGateway(options: GatewayOptions): Gateway {
  const tools = new ToolList(options);
  const held = new HeldCalls();
  return {
    connect(session, client) {
      const guard = session === undefined ? options.guard : inSession(options.guard, session);
      return new Connection({ ...options, guard, tools, held }, client);
    },
  };
}

/** A guard whose screenings belong to the run of a session, where nothing names another; outside of any, to one that is shared. */
function inSession(guard: Guard, session: () => object | undefined): Guard {
  return {
    ...guard,
    screen(point, value, call) {
      const runId = session();
      return guard.screen(point, value, runId === undefined ? { ...call, isShared: true } : { runId, ...call });
    },
    get runId() {
      const id = session();
      return id === undefined ? guard.runId : guard.run({ id }).id;
    },
  };
}

interface ConnectionOptions extends GatewayOptions, ResponseScreening {
  readonly guard: Guard;
  readonly held: HeldCalls;
}

/** One exchange of messages: a session, or one HTTP request with its response. Its methods never reject. */
export class Connection {
  readonly #screening: ConnectionOptions;
  readonly #client: AskedClient | undefined;
  readonly #waiting = new WaitingRequests();
  /** Requests of the client that are being screened: a cancellation ends that, and neither reaches the server. */
  readonly #underWay = new Map<string, AbortController>();

  constructor(screening: ConnectionOptions, client?: AskedClient) {
    this.#screening = screening;
    this.#client = client;
  }

  /** Requests that the server has not answered. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Screens a line or body of the client. */
  fromClient(text: string): Promise<PassedText> {
    return orLater<PassedText>({ forward: undefined, replies: [] }, (asks) =>
      passText(text, (message) => this.#screenClient(message, asks)),
    );
  }

  /** Screens a line, body or event of the server. */
  fromServer(text: string): Promise<PassedText> {
    return passText(text, (message) => this.screenServer(message));
  }

  /** Screens a text of the server's that is no JSON-RPC, such as the body of an HTTP error; gives what may be shown. */
  async screenText(text: string, isHeader = false): Promise<string> {
    const decision = await this.#screening.guard.screen('tool_result', text, { isApart: isHeader });
    return passes(decision) ? decision.value : decision.enforcement.note;
  }

  /** Responses to the requests that the server has not answered and never will. */
  fail(reason: string): readonly JsonObject[] {
    return failures(this.#waiting.takeAll(), reason);
  }

  screenClient(message: Message): Promise<Passed> {
    return orLater<Passed>({}, (asks) => this.#screenClient(message, asks));
  }

  /** `asks` is called once a person is asked. */
  async #screenClient(message: Message, asks: () => void): Promise<Passed> {
    const questions = this.#client?.questions();
    if (message.kind === 'invalid')
      return questions?.takes(message) ? {} : refuseInvalid(this.#screening, 'client', message);
    if (message.kind === 'response') return questions?.takes(message) ? {} : { forward: message.raw };
    if (message.kind === 'notification') return cancels(message, this.#underWay) ? {} : { forward: message.raw };
    questions?.meet(message);
    const { id } = message;
    const key = requestKey(id);
    const aborted = new AbortController();
    this.#underWay.set(key, aborted);
    try {
      const outcome = await this.#decide(message, aborted.signal, asks);
      if ('reply' in outcome) return { reply: { ...outcome.reply, id } };
      this.#waiting.add(this.#read({ ...message, raw: outcome.forward }));
      return outcome;
    } catch (error) {
      return aborted.signal.aborted ? {} : { reply: reportFailure(this.#screening, id, error) };
    } finally {
      this.#underWay.delete(key);
    }
  }

  async #decide(message: Message & { kind: 'request' }, signal: AbortSignal, asks: () => void): Promise<CallOutcome> {
    const { held } = this.#screening;
    if (message.method !== 'tools/call') return { forward: message.raw };
    const heldCall = held.take(message);
    if (heldCall !== undefined) return heldCall;
    const asked = this.#read(message);
    const decide = (onAsk: OnAsk | undefined): Promise<JsonObject | undefined> =>
      refuseCall(this.#screening, message, asked, { signal, onAsk });
    if (asked.showsForms) return held.begin(message, decide);
    const reply = await decide(this.#onAsk(asks));
    return reply === undefined ? { forward: message.raw } : { reply };
  }

  #read(message: Message & { kind: 'request' }): Asked {
    return readRequest(message, this.#client?.namesRuns ?? false);
  }

  #onAsk(asks: () => void): OnAsk | undefined {
    const { send, questions } = this.#client ?? {};
    if (send === undefined || !questions?.().canAsk) return undefined;
    return (question) => {
      asks();
      return questions().ask(question, send);
    };
  }

  async screenServer(message: Message): Promise<Passed> {
    const passed = await this.#passServer(message);
    if (namesNoRequest(message)) this.#waiting.addUnnamed();
    const failed = failures(this.#waiting.takeUnnamed(), "the server's response names no request");
    return failed.length === 0 ? passed : { ...passed, failed };
  }

  async #passServer(message: Message): Promise<Passed> {
    const { guard, pins } = this.#screening;
    if (message.kind === 'invalid') {
      const id = this.#waiting.take(message.id)?.id ?? message.id;
      return refuseInvalid(this.#screening, 'server', { ...message, id });
    }
    const asked = message.kind === 'response' ? this.#waiting.take(message.id) : undefined;
    try {
      if (message.kind === 'response') {
        const shown = (): Promise<JsonObject> => screenResponse(this.#screening, message.raw, asked);
        return { forward: await (asked === undefined ? shown() : asked.within(shown)) };
      }
      if (message.kind === 'request' && this.#client?.questions().has(message.id))
        return { reply: errorResponse(message.id, INVALID_REQUEST, 'portcullis: the id is taken') };
      if (message.method === 'notifications/tools/list_changed') pins?.endFirstUse();
      const decision = await screenServerValue(guard, 'document', message.raw);
      if (passes(decision)) return { forward: decision.value as JsonObject };
      const { note } = decision.enforcement;
      return message.kind === 'request' ? { reply: errorResponse(message.id, REFUSED, note) } : {};
    } catch (error) {
      const failed = reportFailure(this.#screening, message.kind === 'notification' ? null : message.id, error);
      if (message.kind === 'notification') return {};
      return message.kind === 'response' ? { forward: failed } : { reply: failed };
    }
  }
}

function failures(asked: readonly Asked[], reason: string): readonly JsonObject[] {
  return asked.map(({ id }) => errorResponse(id, INTERNAL_ERROR, `portcullis: ${reason}`));
}

/** The response to a call that may not reach the server; undefined where it may. */
async function refuseCall(
  { guard, tools }: ResponseScreening,
  message: Message & { kind: 'request' },
  asked: Asked,
  more: Pick<ScreenCall, 'signal' | 'onAsk'>,
): Promise<JsonObject | undefined> {
  const { name = null, arguments: args = {} } = isObject(message.raw.params) ? message.raw.params : {};
  const reason = typeof name === 'string' ? await tools.deny(guard, name, asked) : undefined;
  if (reason !== undefined) return toolRefusal(message.id, `[denied by portcullis: ${reason}]`, asked);
  const decision = await guard.screen('tool_call', { name, arguments: args }, { ...asked.call, ...more });
  return passes(decision) ? undefined : refusal(message.id, decision.enforcement, asked);
}

/** Whether a notification cancels a request that hasn't reached the server; it is then ended. */
function cancels(
  { method, raw }: Message & { kind: 'notification' },
  underWay: ReadonlyMap<string, AbortController>,
): boolean {
  const { requestId } = isObject(raw.params) ? raw.params : {};
  if (method !== 'notifications/cancelled' || !isId(requestId)) return false;
  const screened = underWay.get(requestKey(requestId));
  screened?.abort();
  return screened !== undefined;
}

/** Whether a message is the response to a request that it doesn't name. An error of another code may be to a notification. */
function namesNoRequest(message: Message): boolean {
  if (message.kind === 'invalid') return message.isResponse === true && message.id === null;
  if (message.kind !== 'response' || message.id !== null) return false;
  const { error } = message.raw;
  return error === undefined || (isObject(error) && [PARSE_ERROR, INVALID_REQUEST].includes(error.code as number));
}

/** Reports a message that can't be used, and answers it, or the request that it may have been meant to answer. */
function refuseInvalid(
  { guard, report }: GatewayOptions,
  from: 'client' | 'server',
  { id, mistake }: Message & { kind: 'invalid' },
): Passed {
  report({ event: 'invalid_message', runId: guard.runId, from, action: 'drop', reason: mistake });
  if (from === 'client') {
    const code = mistake === 'not valid JSON' ? PARSE_ERROR : INVALID_REQUEST;
    return { reply: errorResponse(id, code, `portcullis: ${mistake}`) };
  }
  if (id === null) return {};
  const reason = `portcullis: the server's response is unusable: ${mistake}`;
  return { forward: errorResponse(id, INTERNAL_ERROR, reason) };
}

/** Tells a peer of a failure of ours, so that it doesn't wait. */
function reportFailure({ guard, report }: GatewayOptions, id: MessageId | null, error: unknown): JsonObject {
  const reason = errorCode(error) === 'PIN_FILE_INVALID' ? (error as Error).message : 'screening failed';
  report({ event: 'invalid_message', runId: guard.runId, from: 'server', action: 'drop', reason });
  return errorResponse(id, INTERNAL_ERROR, `portcullis: ${reason}`);
}

/** A decision, or one in which nothing passes yet as soon as a person is asked: what comes next needn't wait for the answer. */
function orLater<T extends Passed | PassedText>(nothing: T, decide: (asks: () => void) => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const later = decide(() => resolve({ ...nothing, later }));
    later.then(resolve, reject);
  });
}

async function passText(text: string, screen: (message: Message) => Promise<Passed>): Promise<PassedText> {
  const { messages, isBatch, text: written } = readMessages(text);
  const passed = await Promise.all(messages.map(screen));
  const forwarded = passed.flatMap(({ forward }) => (forward === undefined ? [] : [forward]));
  const replies = passed.flatMap(({ reply }) => (reply === undefined ? [] : [reply]));
  const failures = passed.flatMap((each) => each.failed ?? []);
  const failed = failures.length === 0 ? {} : { failed: failures };
  const isUnchanged =
    forwarded.length === messages.length &&
    messages.every((message, index) => message.kind !== 'invalid' && message.raw === forwarded[index]);
  // As it was written: another writer would lose the digits of long numbers.
  if (isUnchanged) return { forward: written, replies, ...failed };
  if (forwarded.length === 0) return { forward: undefined, replies, ...failed };
  return { forward: JSON.stringify(isBatch ? forwarded : forwarded[0]), replies, ...failed };
}
