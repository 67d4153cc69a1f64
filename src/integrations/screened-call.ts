/** Screens what a call shows a model, each part where it stands. */
import { ReadableStream } from 'node:stream/web';
import {
  type Decision,
  type Enforcement,
  type Guard,
  newestTurn,
  type Point,
  passes,
  type Run,
  type ScreenCall,
} from '../policy/index.js';
import { isContainer, mapStrings } from '../policy/redact.js';
import { readEvents, type ServerSentEvent, writeEvent } from './server-sent-events.js';
import { type StreamedTexts, streamTexts } from './streamed-texts.js';

export type Members = Readonly<Record<string, unknown>>;

/** Whose words a message has. */
export type Author = 'operator' | 'user' | 'model' | 'tool';

/** A call that the model makes; its result repeats the id. */
interface ModelCall {
  readonly id: unknown;
  readonly call: { readonly name: string; readonly arguments: unknown };
}

/** The screening of one call, which is a run of its own unless the guard is in one. */
export interface CallScreening extends Pick<Run, 'screen' | 'trust'> {
  /** Why the call must not be made, once a part said so. */
  readonly refusal: Enforcement | undefined;
  /**
   * Messages or items, each by `show`; those before the user's newest one are past. In their order, so that the run knows who said
   * what: the operator's are trusted, the calls of the model recalled.
   */
  turns<M>(
    messages: readonly M[],
    authorOf: (message: M) => Author,
    show: (message: M, call: ScreenCall) => Promise<M>,
  ): Promise<readonly M[]>;
  /** The tool of a call that an earlier message made. */
  toolOf(id: unknown): string | undefined;
  /** Why a call that the model makes in its answer may not be made; undefined where it may. Nobody can be asked here. */
  refuseCall(answer: unknown): Promise<Enforcement | undefined>;
  /**
   * A content whole, as it may be shown: itself, redacted, or in its own shape with the note. Of a user's list the texts are
   * what the user says, and every other block is a result or a document.
   */
  content(point: Point, content: unknown, call?: ScreenCall): Promise<unknown>;
  /**
   * Blocks of a message by whose words they are; those without a point pass. The user's are screened as one content; a blocked
   * file becomes a text block with the note, any other block keeps its shape.
   */
  blocks<B>(
    blocks: readonly B[],
    pointOf: (block: B) => Point | undefined,
    call?: ScreenCall,
  ): Promise<readonly unknown[]>;
  /**
   * A message or a result: its content, output and tools each on its own, its other members as one content, where they say
   * something beside identifiers. `own` are members that the model wrote; without a point only its tools are screened.
   */
  item<T extends object>(point: Point | undefined, item: T, call?: ScreenCall, own?: readonly string[]): Promise<T>;
  /** A message that the model wrote, in the words of any host; its texts without ways out. */
  answer<M>(message: M): Promise<M>;
  /** The texts of an answer that comes in pieces. `answer` shows one that has ended as it was shown. */
  readonly streamed: StreamedTexts;
  /** The tools whose definitions may be shown, those in namespaces too. */
  tools<T>(tools: readonly T[], describe?: (tool: T) => unknown): Promise<readonly T[]>;
}

/** Starts the screening of a call. */
export function screenCall(guard: Guard, call: ScreenCall = {}): CallScreening {
  let refusal: Enforcement | undefined;
  const run = guard.run({ id: call.runId, brief: true });
  const called = new Map<unknown, string>();
  const streamed = streamTexts(run, call);

  async function screen<T>(point: Point, value: T, more?: ScreenCall): Promise<Decision<T>> {
    const decision = await run.screen(point, value, { ...call, ...more });
    if (decision.action === 'refuse' || decision.action === 'stop') refusal ??= decision.enforcement;
    return decision;
  }

  async function whole(point: Point, given: unknown, more?: ScreenCall): Promise<unknown> {
    const decision = await screen(point, given, more);
    if (passes(decision)) return decision.value;
    const { action, enforcement } = decision;
    // A call that isn't made shows nothing.
    if (action === 'refuse' || action === 'stop') return enforcement.note;
    return withNote(run, point, given, enforcement, { ...call, ...more });
  }

  async function content(point: Point, given: unknown, more?: ScreenCall): Promise<unknown> {
    return point === 'user' && Array.isArray(given) ? blocks(given, pointOfBlock, more) : whole(point, given, more);
  }

  async function blocks<B>(
    given: readonly B[],
    pointOf: (block: B) => Point | undefined,
    more?: ScreenCall,
  ): Promise<readonly unknown[]> {
    const spoken = given.filter((block) => pointOf(block) === 'user');
    const said = spoken.length === 0 ? spoken : await whole('user', spoken, more);
    const shown = Array.isArray(said) ? [...said] : [noteBlock(spoken, said)];
    return showEach<unknown>(given, async (block) => {
      const point = pointOf(block as B);
      if (point === undefined) return [block];
      if (point === 'user') return shown.splice(0, 1);
      if (point !== 'document') return shownResult(point, block, more);
      const document = await screen(point, block, more);
      if (passes(document)) return [document.value];
      const { action, enforcement } = document;
      if (action === 'hide') return [];
      if (!isPassage(block)) return [noteBlock([...spoken, block], enforcement.note)];
      return [await withNote(run, point, block, enforcement, { ...call, ...more })];
    });
  }

  async function shownResult(point: Point, block: unknown, more?: ScreenCall): Promise<readonly unknown[]> {
    if (!isObject(block)) return [await whole(point, block, more)];
    const isGone = block.tool !== undefined && (await tools([block.tool])).length === 0;
    const tool = more?.tool ?? called.get(block.tool_use_id ?? block.tool_call_id);
    return isGone ? [] : [await item(point, block, { ...more, tool }, ['tool'])];
  }

  async function item<T extends object>(
    point: Point | undefined,
    given: T,
    more?: ScreenCall,
    own: readonly string[] = [],
  ): Promise<T> {
    const shown: Record<string, unknown> = Object.fromEntries(Object.entries(given));
    if (Array.isArray(shown.tools)) shown.tools = await tools(shown.tools);
    if (point !== undefined) {
      const apart = ['content', 'output', 'tools', ...own];
      const others = Object.entries(given).filter(([name, value]) => !apart.includes(name) && saysAnything(value));
      const said = Object.fromEntries(others);
      const screened = others.length === 0 ? said : await content(point, said, more);
      const isWhole = isObject(screened);
      for (const [name] of others) shown[name] = isWhole ? screened[name] : screened;
      for (const name of ['content', 'output'])
        if (shown[name] !== undefined) shown[name] = await content(point, shown[name], more);
    }
    return Object.entries(given).every(([name, value]) => shown[name] === value) ? given : (shown as T);
  }

  async function output(text: string): Promise<string> {
    const shown = streamed.shown(text);
    if (shown !== undefined) return shown;
    const decision = await screen('output', text);
    return passes(decision) ? decision.value : decision.enforcement.note;
  }

  async function answer<M>(message: M): Promise<M> {
    if (!isObject(message)) return message;
    const shown: Record<string, unknown> = {};
    if (isText(message) && typeof message.text === 'string') shown.text = await output(message.text);
    if (typeof message.content === 'string') shown.content = await output(message.content);
    if (Array.isArray(message.content))
      shown.content = await showEach(message.content, async (block) => [isText(block) ? await answer(block) : block]);
    return Object.entries(shown).every(([name, value]) => message[name] === value) ? message : { ...message, ...shown };
  }

  function tools<T>(given: readonly T[], describe: (tool: T) => unknown = (tool) => tool): Promise<readonly T[]> {
    return showEach(given, (tool) => shownTool(tool, describe(tool)));
  }

  async function shownTool<T>(given: T, described: unknown): Promise<readonly T[]> {
    if (!isObject(described)) return passes(await guard.screen('tool_definition', described, call)) ? [given] : [];
    // Secrets for the tool's server say nothing to the model.
    const { tools: inner, headers: _, authorization: __, ...definition } = described;
    const { name = described.server_label } = isObject(described.function) ? described.function : described;
    const asked = { ...call, ...(typeof name === 'string' && { tool: name }) };
    if (saysAnything(definition) && !passes(await guard.screen('tool_definition', definition, asked))) return [];
    const kept = Array.isArray(inner) ? await tools(inner) : inner;
    return [kept === inner ? given : { ...given, tools: kept }];
  }

  return {
    get refusal() {
      return refusal;
    },
    screen,
    trust: run.trust,
    async turns<M>(
      messages: readonly M[],
      authorOf: (message: M) => Author,
      show: (message: M, at: ScreenCall) => Promise<M>,
    ) {
      const authors = messages.map(authorOf);
      const newest = newestTurn(authors, (author) => author === 'user');
      const shown: M[] = [];
      for (let at = 0; at < messages.length; at = shown.length) {
        // Results of calls that were made at once are screened at once.
        const next = authors.findIndex((author, index) => index > at && (author !== 'tool' || authors[at] !== 'tool'));
        const some = messages.slice(at, next < 0 ? undefined : next);
        shown.push(...(await Promise.all(some.map((message, index) => showTurn(message, at + index)))));
      }
      return shown.every((message, index) => message === messages[index]) ? messages : shown;

      function showTurn(message: M, index: number): Promise<M> {
        if (authors[index] === 'operator') run.trust((message as Members).content);
        for (const { id, call: made } of authors[index] === 'model' ? callsOf(message) : []) {
          run.recall(made);
          called.set(id, made.name);
        }
        return show(message, { isPast: index < newest });
      }
    },
    toolOf: (id) => called.get(id),
    async refuseCall(answer) {
      for (const { call: made } of callsOf(answer)) {
        const decision = await screen('tool_call', made, { tool: made.name });
        if (!passes(decision)) return decision.enforcement;
      }
      return undefined;
    },
    content,
    blocks,
    item,
    answer,
    streamed,
    tools,
  };
}

/**
 * Makes a function that finds the screening of the calls of one step of a model: in the run of the messages that the host hands
 * over with each of them, or in that of the id.
 */
export function createSteps(
  guard: Guard,
  follow: (screening: CallScreening, messages: readonly never[], at: ScreenCall) => Promise<unknown>,
): (messages?: readonly unknown[], runId?: ScreenCall['runId']) => Promise<CallScreening> {
  const known = new WeakMap<readonly unknown[], Promise<CallScreening>>();
  return (messages = [], runId) => {
    const screening = known.get(messages) ?? followed(messages, runId);
    known.set(messages, screening);
    return screening;
  };

  async function followed(messages: readonly unknown[], runId: ScreenCall['runId']): Promise<CallScreening> {
    const screening = screenCall(guard, { runId });
    await follow(screening, messages as readonly never[], { isPast: true });
    return screening;
  }
}

/** A response of JSON with another answer in it; any other response passes as it is. */
export async function showAnswer(response: Response, show: (answer: unknown) => Promise<unknown>): Promise<Response> {
  if (!response.ok || !/^application\/json\b/i.test(response.headers.get('content-type') ?? '')) return response;
  const answer = parsed(await response.clone().text());
  const shown = await show(answer);
  if (shown === answer) return response;
  const headers = new Headers(response.headers);
  for (const name of ['content-length', 'content-encoding']) headers.delete(name);
  return Response.json(shown, { status: response.status, headers });
}

/** How the events of a response are shown. */
export interface ShownEvents {
  show(event: ServerSentEvent): Promise<readonly ServerSentEvent[]>;
  /** Events to add where the response breaks off. */
  rest(): Promise<readonly ServerSentEvent[]>;
}

/** A response of server-sent events with others in their place, each once it has come; any other response passes as it is. */
export function showEvents(response: Response, { show, rest }: ShownEvents): Response {
  const { body } = response;
  if (!response.ok || body === null || !/^text\/event-stream\b/i.test(response.headers.get('content-type') ?? ''))
    return response;
  async function* lines(given: NonNullable<Response['body']>): AsyncGenerator<Uint8Array> {
    const encoder = new TextEncoder();
    for await (const event of readEvents(given as unknown as AsyncIterable<Buffer>, Number.POSITIVE_INFINITY))
      for (const shown of await show(event)) yield encoder.encode(writeEvent(shown));
    for (const shown of await rest()) yield encoder.encode(writeEvent(shown));
  }
  const headers = new Headers(response.headers);
  for (const name of ['content-length', 'content-encoding']) headers.delete(name);
  const { status, statusText } = response;
  return new Response(ReadableStream.from(lines(body)) as never, { status, statusText, headers });
}

/** The calls that a message, item or part of the model makes, in the words of any host. */
function callsOf(message: unknown): readonly ModelCall[] {
  if (!isObject(message)) return [];
  const { content, tool_calls, function_call } = message;
  const blocks = [
    message,
    function_call,
    ...[content, tool_calls].flatMap((list) => (Array.isArray(list) ? list : [])),
  ];
  return blocks.filter(isObject).flatMap((block): readonly ModelCall[] => {
    const { function: named = block.custom } = block;
    const { type, toolName = type, name = toolName, action, operation, ...said } = isObject(named) ? named : block;
    const given = [said.arguments, said.input, said.args, action, operation].find((args) => args !== undefined);
    if (typeof name !== 'string' || given === undefined) return [];
    const id = block.call_id ?? block.callId ?? block.toolCallId ?? block.id;
    return [{ id, call: { name, arguments: parsed(given) } }];
  });
}

/** Arguments that some hosts hand over as JSON text; a model may write what is no JSON. */
function parsed(args: unknown): unknown {
  try {
    return typeof args === 'string' ? JSON.parse(args) : args;
  } catch {
    return args;
  }
}

/** Each of a list as it may be shown, replaced or left out; the list itself where nothing changes. */
export async function showEach<T>(
  list: readonly T[],
  show: (item: T, index: number) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const shown = (await Promise.all(list.map(show))).flat() as T[];
  return shown.length === list.length && shown.every((item, index) => item === list[index]) ? list : shown;
}

/** An object with another value of a member; the object itself where it is the same. */
export function withMember<T extends object>(object: T, name: keyof T, value: unknown): T {
  return value === object[name] ? object : { ...object, [name]: value };
}

export function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a block is a text that its message's author says. */
export function isText(block: unknown): boolean {
  return !isObject(block) || (typeof block.type === 'string' && /^(\w+_)?text$/.test(block.type));
}

function pointOfBlock(block: unknown): Point {
  if (isText(block)) return 'user';
  return /tool_result$/.test(String((block as Members).type)) ? 'tool_result' : 'document';
}

/** Whether a block is a passage of plain text, which can hold the note; a file in base64 can't. */
function isPassage(block: unknown): boolean {
  if (!isObject(block) || (block.type !== 'document' && block.type !== 'search_result')) return false;
  return !isObject(block.source) || block.source.type !== 'base64';
}

/** The note as a block of text, in the words of the blocks that stood there. */
function noteBlock(near: readonly unknown[], note: unknown): unknown {
  const types = near.map((block) => (isObject(block) ? String(block.type) : 'text'));
  return {
    type: types.find((type) => /text$/.test(type)) ?? (/^input_/.test(types[0] ?? '') ? 'input_text' : 'text'),
    text: note,
  };
}

/** Levels of a value that are searched for what it says. */
const MAX_LEVELS = 100;

/** Whether a value has more than identifiers: another string, bytes or an object of any class. */
function saysAnything(value: unknown, level = 0): boolean {
  if (typeof value === 'string') return !isIdentifier(value);
  if (typeof value !== 'object' || value === null) return false;
  if (!isContainer(value) || level > MAX_LEVELS) return true;
  return Object.values(value).some((inner) => saysAnything(inner, level + 1));
}

function isIdentifier(text: string): boolean {
  return /^[\w./:+-]{0,40}$/.test(text) || /^[a-z]{1,12}_[A-Za-z0-9]{8,80}$/.test(text);
}

/** Strings of one value that are screened one by one, and levels of it that are read. */
const MAX_STRINGS = 100;

/** A blocked content in its own shape with the note in it, or the note itself where that would still be blocked. */
async function withNote(
  guard: Pick<Guard, 'screen'>,
  point: Point,
  given: unknown,
  { note, cause }: Enforcement,
  call: ScreenCall,
): Promise<unknown> {
  if (cause !== 'verdict' || !isContainer(given) || stringsIn(given) > MAX_STRINGS) return note;
  const scrubbed = await scrub(guard, point, given, call);
  if (scrubbed !== undefined) return scrubbed;
  const covered = mapStrings(given, (text) => (isIdentifier(text) ? text : note));
  const decision = await guard.screen(point, covered, { ...call, isPast: true });
  return passes(decision) ? decision.value : note;
}

/** A copy whose blocked strings are the note; undefined for a value of too many strings, and where the rest is blocked too. */
export async function scrub(
  guard: Pick<Guard, 'screen'>,
  point: Point,
  given: unknown,
  call: ScreenCall,
): Promise<unknown> {
  if (stringsIn(given) > MAX_STRINGS) return undefined;
  const asked = { ...call, isPast: true };
  const shown = new Map<string, string>();
  mapStrings(given, (text) => {
    if (!isIdentifier(text)) shown.set(text, text);
    return text;
  });
  for (const text of shown.keys()) {
    const decision = await guard.screen(point, text, asked);
    shown.set(text, passes(decision) ? decision.value : decision.enforcement.note);
  }
  const decision = await guard.screen(
    point,
    mapStrings(given, (text) => shown.get(text) ?? text),
    asked,
  );
  return passes(decision) ? decision.value : undefined;
}

/** How many strings a value holds; more than `MAX_STRINGS` for one that is nested too deep, which bounds the recursion. */
function stringsIn(value: unknown): number {
  let count = 0;
  let level: readonly unknown[] = [value];
  for (let depth = 0; level.length > 0 && count <= MAX_STRINGS; depth += 1) {
    if (depth > MAX_STRINGS) return Number.POSITIVE_INFINITY;
    count += level.filter((item) => typeof item === 'string').length;
    level = level.filter(isContainer).flatMap((item) => Object.values(item));
  }
  return count;
}
