/** Screens what a call shows a model, each part where it stands. */
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
import { callsOf, isPassage, isSaid, isSigned, isText, isThought, noteBlock, pointOfBlock } from './content-blocks.js';
import { isObject, type JsonObject, showEach } from './json-value.js';
import { hasMoreThanIdentifiers, withNote } from './noted-content.js';
import { type StreamedTexts, streamTexts } from './streamed-texts.js';

/** Members of an answer's parts that hold what the model says or thinks. */
const TEXTS = ['text', 'reasoning', 'reasoning_content', 'thinking', 'summary'];

/** Author of a message. */
export type Author = 'operator' | 'user' | 'model' | 'tool';

/** The screening of one call, which is a run of its own unless the guard is in one. */
export class CallScreening {
  /** The texts of an answer that comes in pieces. `answer` shows one that has ended as it was shown. */
  readonly streamed: StreamedTexts;
  readonly #guard: Guard;
  readonly #run: Run;
  readonly #call: ScreenCall;
  readonly #called = new Map<unknown, string>();
  /** Calls of the answer that may be made: a stream may repeat them at its end. */
  readonly #allowed = new Set<string>();
  #refusal: Enforcement | undefined;

  constructor(guard: Guard, call: ScreenCall = {}) {
    this.#guard = guard;
    this.#call = call;
    this.#run = guard.run({ id: call.runId, brief: true });
    this.streamed = streamTexts(this.#run, call);
  }

  /** The reason why the call must not be made, once a part gave one. */
  get refusal(): Enforcement | undefined {
    return this.#refusal;
  }

  async screen<T>(point: Point, value: T, more?: ScreenCall): Promise<Decision<T>> {
    const decision = await this.#run.screen(point, value, { ...this.#call, ...more });
    if (decision.action === 'refuse' || decision.action === 'stop') this.#refusal ??= decision.enforcement;
    return decision;
  }

  trust(content: unknown): void {
    this.#run.trust(content);
  }

  /** The tool of a call that an earlier message made. */
  toolOf(id: unknown): string | undefined {
    return this.#called.get(id);
  }

  /**
   * Messages or items, each by `show`; those before the user's newest one are past. In their order, so that the run knows who said
   * what: the operator's are trusted, the calls of the model recalled.
   */
  async turns<M>(
    messages: readonly M[],
    authorOf: (message: M) => Author,
    show: (message: M, call: ScreenCall) => Promise<M>,
  ): Promise<readonly M[]> {
    const authors = messages.map(authorOf);
    const newest = newestTurn(authors, (author) => author === 'user');
    const showTurn = async (message: M, index: number): Promise<M> => {
      if (authors[index] === 'operator') this.trust((message as JsonObject).content);
      const calls = authors[index] === 'model' ? callsOf(message) : [];
      for (const { id, call } of calls) this.#called.set(id, call.name);
      const recall = (isLater: boolean): void => {
        for (const { call, isAfterResult } of calls) if (isAfterResult === isLater) this.#run.recall(call);
      };
      recall(false);
      const shown = await show(message, { isPast: index < newest });
      recall(true);
      return shown;
    };
    const shown: M[] = [];
    for (let at = 0; at < messages.length; at = shown.length) {
      // Results of calls that were made at once are screened at once.
      const next = authors.findIndex((author, index) => index > at && (author !== 'tool' || authors[at] !== 'tool'));
      const some = messages.slice(at, next < 0 ? undefined : next);
      shown.push(...(await Promise.all(some.map((message, index) => showTurn(message, at + index)))));
    }
    return shown.every((message, index) => message === messages[index]) ? messages : shown;
  }

  /**
   * A message or a result: its content, output and tools each on its own, its other members as one content, where they say
   * something beside identifiers. `own` are members that the model wrote; without a point only its tools are screened.
   */
  async item<T extends object>(
    point: Point | undefined,
    given: T,
    more?: ScreenCall,
    own: readonly string[] = [],
  ): Promise<T> {
    const shown: Record<string, unknown> = Object.fromEntries(Object.entries(given));
    if (Array.isArray(shown.tools)) shown.tools = await this.tools(shown.tools);
    if (point !== undefined) {
      const apart = ['content', 'output', 'tools', ...own];
      const others = Object.entries(given).filter(
        ([name, value]) => !apart.includes(name) && hasMoreThanIdentifiers(value),
      );
      const said = Object.fromEntries(others);
      const screened = others.length === 0 ? said : await this.content(point, said, more);
      const isWhole = isObject(screened);
      for (const [name] of others) shown[name] = isWhole ? screened[name] : screened;
      for (const name of ['content', 'output'])
        if (shown[name] !== undefined) shown[name] = await this.content(point, shown[name], more);
    }
    return Object.entries(given).every(([name, value]) => shown[name] === value) ? given : (shown as T);
  }

  /**
   * A content whole, as it may be shown: itself, redacted, or in its own shape with the note. Of a user's list the texts are
   * what the user says, and every other block is a result or a document.
   */
  async content(point: Point, given: unknown, more?: ScreenCall): Promise<unknown> {
    return point === 'user' && Array.isArray(given)
      ? this.blocks(given, pointOfBlock, more)
      : this.#whole(point, given, more);
  }

  async #whole(point: Point, given: unknown, more?: ScreenCall): Promise<unknown> {
    const decision = await this.screen(point, given, more);
    if (passes(decision)) return decision.value;
    const { action, enforcement } = decision;
    // A call that isn't made shows nothing.
    if (action === 'refuse' || action === 'stop') return enforcement.note;
    return withNote(this.#run, point, given, enforcement, { ...this.#call, ...more });
  }

  /**
   * Blocks of a message by whose words they are; those without a point pass. The user's are screened as one content; a blocked
   * file becomes a text block with the note, any other block keeps its shape.
   */
  async blocks<B>(
    given: readonly B[],
    pointOf: (block: B) => Point | undefined,
    more?: ScreenCall,
  ): Promise<readonly unknown[]> {
    const spoken = given.filter((block) => pointOf(block) === 'user');
    const said = spoken.length === 0 ? spoken : await this.#whole('user', spoken, more);
    const shown = Array.isArray(said) ? [...said] : [noteBlock(spoken, said)];
    return showEach<unknown>(given, async (block) => {
      const point = pointOf(block as B);
      if (point === undefined) return [block];
      if (point === 'user') return shown.splice(0, 1);
      return point === 'document' ? this.#document(block, spoken, more) : this.#result(point, block, more);
    });
  }

  async #document(block: unknown, near: readonly unknown[], more?: ScreenCall): Promise<readonly unknown[]> {
    const document = await this.screen('document', block, more);
    if (passes(document)) return [document.value];
    const { action, enforcement } = document;
    if (action === 'hide') return [];
    if (!isPassage(block)) return [noteBlock([...near, block], enforcement.note)];
    return [await withNote(this.#run, 'document', block, enforcement, { ...this.#call, ...more })];
  }

  async #result(point: Point, block: unknown, more?: ScreenCall): Promise<readonly unknown[]> {
    if (!isObject(block)) return [await this.#whole(point, block, more)];
    const isGone = block.tool !== undefined && (await this.tools([block.tool])).length === 0;
    const tool = more?.tool ?? this.toolOf(block.tool_use_id ?? block.tool_call_id);
    return isGone ? [] : [await this.item(point, block, { ...more, tool }, ['tool'])];
  }

  /** The tools whose definitions may be shown, those in namespaces too. */
  tools<T>(given: readonly T[], describe: (tool: T) => unknown = (tool) => tool): Promise<readonly T[]> {
    return showEach(given, (tool) => this.#tool(tool, describe(tool)));
  }

  async #tool<T>(given: T, described: unknown): Promise<readonly T[]> {
    const allows = async (definition: unknown, tool?: unknown): Promise<boolean> => {
      const call = { ...this.#call, ...(typeof tool === 'string' && { tool }) };
      return passes(await this.#guard.screen('tool_definition', definition, call));
    };
    if (!isObject(described)) return (await allows(described)) ? [given] : [];
    // The model never sees the secrets for the tool's server.
    const { tools: inner, headers: _, authorization: __, ...definition } = described;
    const { name = described.server_label } = isObject(described.function) ? described.function : described;
    if (hasMoreThanIdentifiers(definition) && !(await allows(definition, name))) return [];
    const kept = Array.isArray(inner) ? await this.tools(inner) : inner;
    return [kept === inner ? given : { ...given, tools: kept }];
  }

  /**
   * Returns the reason why a call that the model makes in its answer may not be made; undefined where it may, and where it was said before. Nobody can
   * be asked here.
   */
  async refuseCall(answer: unknown): Promise<Enforcement | undefined> {
    for (const { id, call } of callsOf(answer)) {
      const said = JSON.stringify([id, call]);
      if (this.#allowed.has(said)) continue;
      const decision = await this.screen('tool_call', call, { tool: call.name });
      if (!passes(decision)) return decision.enforcement;
      this.#allowed.add(said);
    }
    return undefined;
  }

  /**
   * An answer, or a message or text of one, in the words of any host; its texts without ways out, also over several of a list, which
   * hosts join. What the model thinks counts as well, since hosts show it as they show the rest; signed, it stays as it is.
   */
  async answer<A>(answer: A, isWithinSigned = false): Promise<A> {
    if (!isObject(answer)) return answer;
    const { content, message, choices, output } = answer;
    const isFixed = isWithinSigned || (isThought(answer) && isSigned(answer));
    const each = (list: readonly unknown[], isShown: (item: unknown) => boolean): Promise<readonly unknown[]> =>
      showEach(list, async (item) => [isShown(item) ? await this.answer(item, isFixed) : item]);
    const shown: Record<string, unknown> = {};
    for (const name of answer.type === undefined || isSaid(answer) ? TEXTS : []) {
      const text = answer[name];
      if (typeof text === 'string') shown[name] = await this.#output(text, isFixed);
      else if (isThought(text)) shown[name] = await this.answer(text);
    }
    if (typeof content === 'string') shown.content = await this.#output(content, isFixed);
    for (const name of ['content', 'summary', 'rawContent', 'reasoning_details']) {
      const list = answer[name];
      if (Array.isArray(list)) shown[name] = await this.joined(await each(list, isSaid), isFixed);
    }
    if (isObject(message)) shown.message = await this.answer(message);
    if (Array.isArray(choices)) shown.choices = await each(choices, isObject);
    if (Array.isArray(output))
      shown.output = await each(output, (item) => isObject(item) && (item.type === 'message' || isThought(item)));
    return Object.entries(shown).every(([name, value]) => answer[name] === value) ? answer : { ...answer, ...shown };
  }

  /** Texts of an answer without a way out over several of them: where there is one, the first holds them all. */
  async joined<P>(parts: readonly P[], isFixed = false): Promise<readonly P[]> {
    const texts = parts.filter((part) => isObject(part) && isText(part) && typeof part.text === 'string');
    if (texts.length < 2) return parts;
    const whole = texts.map((part) => (part as { text?: unknown }).text).join('');
    const text = await this.#output(whole, isFixed);
    if (text === whole) return parts;
    return parts.flatMap((part) => (part === texts[0] ? { ...part, text } : texts.includes(part) ? [] : part));
  }

  async #output(text: string, isFixed: boolean): Promise<string> {
    const shown = this.streamed.shown(text, isFixed);
    if (shown !== undefined) return shown;
    const decision = await this.screen('output', text, { isSigned: isFixed });
    return passes(decision) ? decision.value : decision.enforcement.note;
  }
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
    const screening = new CallScreening(guard, { runId });
    await follow(screening, messages as readonly never[], { isPast: true });
    return screening;
  }
}
