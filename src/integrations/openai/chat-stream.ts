/** Shows an answer of Chat Completions or Completions that comes in chunks: its texts without ways out, its calls of tools once they are whole. */
import { isSigned, isThought } from '../content-blocks.js';
import { isObject, type JsonObject, showEach, withMember } from '../json-value.js';
import { eventData, type ShownEvents, type StreamedCalls } from '../model-response.js';
import type { CallScreening } from '../screened-call.js';
import type { ServerSentEvent } from '../server-sent-events.js';
import { chatNote } from './refused.js';

export function showChat(screening: CallScreening): ShownEvents {
  const choices: Choices = new Map();
  const texts = showTexts(screening);
  let last: JsonObject = {};

  async function rest(): Promise<readonly ServerSentEvent[]> {
    const open = await texts.rest();
    return open.length === 0 ? [] : [{ data: JSON.stringify({ ...last, choices: open }) }];
  }

  const { follow, isOpen } = followCalls(choices);
  return {
    follow(event, data) {
      if (Array.isArray(data?.choices)) last = data;
      return follow(event, data);
    },
    isOpen,
    async show(event) {
      const data = eventData(event);
      // Anything else that is no chunk, such as a comment that keeps the connection open, ends no text.
      if (data === undefined) return event.data?.trim() === '[DONE]' ? [...(await rest()), event] : [event];
      if (!Array.isArray(data.choices)) return [event];
      const shown = await showEach(data.choices, async (choice) => [await texts.show(choice)]);
      for (const { index, finish_reason } of data.choices.filter(isObject)) {
        const choice = choices.get(index);
        if (choice && finish_reason) choice.isOver = true;
      }
      return shown === data.choices ? [event] : [{ ...event, data: JSON.stringify({ ...data, choices: shown }) }];
    },
    rest,
    refuse(refusal) {
      const unfinished = [...choices.keys()].filter((index) => !choices.get(index)?.isOver);
      return chatNote(refusal, last, unfinished.length > 0 ? unfinished : [...choices.keys()]).map(({ data }) => ({
        data: typeof data === 'string' ? data : JSON.stringify(data),
      }));
    },
  };
}

/** A choice. `calls`: by the index under which their pieces come, which some servers give to several. */
interface Choice {
  readonly calls: Map<unknown, readonly JsonObject[]>;
  /** Whether pieces of its calls came since it finished. */
  isOpen: boolean;
  /** Whether its end was shown. */
  isOver: boolean;
}
type Choices = Map<unknown, Choice>;

/** The calls of a choice are whole where it finishes, or where the answer is done. */
function followCalls(choices: Choices): StreamedCalls {
  const end = (choice: Choice): readonly unknown[] => {
    if (!choice.isOpen) return [];
    choice.isOpen = false;
    return [{ tool_calls: [...choice.calls.values()].flat() }];
  };

  function follow(given: unknown): readonly unknown[] {
    const { index, delta, message, finish_reason } = isObject(given) ? given : {};
    const choice = choices.get(index) ?? { calls: new Map(), isOpen: false, isOver: false };
    choices.set(index, choice);
    for (const piece of piecesOf(delta)) {
      addPiece(choice.calls, piece);
      choice.isOpen = true;
    }
    // Some servers end with the message as a whole.
    const said = isObject(message) ? [message] : [];
    return finish_reason ? [...said, ...end(choice)] : said;
  }

  return {
    follow(event, data) {
      if (event.data?.trim() === '[DONE]') return [...choices.values()].flatMap(end);
      // One that broke off is never whole.
      return data?.error || !Array.isArray(data?.choices) ? [] : data.choices.flatMap(follow);
    },
    isOpen: () => [...choices.values()].some((choice) => choice.isOpen),
  };
}

function piecesOf(delta: unknown): readonly JsonObject[] {
  const { tool_calls, function_call } = isObject(delta) ? delta : {};
  const pieces = Array.isArray(tool_calls) ? tool_calls.filter(isObject) : [];
  return isObject(function_call) ? [...pieces, { index: 'function_call', function: function_call }] : pieces;
}

function addPiece(calls: Choice['calls'], piece: JsonObject): void {
  const { index, id, function: named = piece.custom } = piece;
  const list = calls.get(index) ?? [];
  const last = list.at(-1);
  const isNext = last === undefined || (id && id !== last.id && isObject(named) && named.name);
  calls.set(index, isNext ? [...list, withPiece({}, piece)] : [...list.slice(0, -1), withPiece(last, piece)]);
}

/** A call with the next piece of it: what it is made with goes on, everything else is said anew. */
function withPiece(call: JsonObject, piece: JsonObject): JsonObject {
  const joined: Record<string, unknown> = { ...call };
  for (const [name, value] of Object.entries(piece)) {
    const before = call[name];
    if (isObject(value)) joined[name] = withPiece(isObject(before) ? before : {}, value);
    else if (/^(arguments|input)$/.test(name) && typeof before === 'string') joined[name] = `${before}${value ?? ''}`;
    else if (value !== null && value !== '') joined[name] = value;
    else joined[name] ??= value;
  }
  return joined;
}

/** Members of a delta that hold what the model says or thinks. */
const SAID = ['reasoning_content', 'reasoning', 'content'];

interface ShownTexts {
  show(choice: unknown): Promise<unknown>;
  /** Choices with what is held back of their texts. */
  rest(): Promise<readonly JsonObject[]>;
}

// Long: `show` and `rest` share where each text that is being held back belongs.
function showTexts(screening: CallScreening): ShownTexts {
  const { streamed } = screening;
  /** Of a text its choice, and the delta of a piece of it. */
  const places = new Map<unknown, { readonly index: unknown; readonly delta: (text: string) => JsonObject }>();

  /** A piece of a thought, as OpenRouter sends it beside the text alone. */
  async function showDetail(index: unknown, detail: unknown): Promise<unknown> {
    if (!isObject(detail) || !isThought(detail)) return detail;
    const { type, id, format, index: at } = detail;
    const shown: Record<string, unknown> = { ...detail };
    for (const name of ['text', 'summary']) {
      const key = `${index} ${name} ${at ?? id}`;
      const delta = (text: string): JsonObject => ({
        reasoning_details: [{ type, id, format, index: at, [name]: text }],
      });
      if (typeof shown[name] === 'string') {
        places.set(key, { index, delta });
        shown[name] = await streamed.write(key, shown[name], 'thought');
      }
      if (isSigned(detail)) addRest(shown, { [name]: await streamed.end(key, true) });
    }
    return sameOr(detail, shown);
  }

  async function show(given: unknown): Promise<unknown> {
    if (!isObject(given)) return given;
    const choice = withMember(given, 'message', await screening.answer(given.message));
    const { index, delta, text, finish_reason } = choice;
    const said: JsonObject = isObject(delta) ? delta : { content: text };
    const shown: Record<string, unknown> = { ...said };
    for (const name of SAID) {
      const piece = said[name];
      if (typeof piece !== 'string') continue;
      const id = `${index} ${name}`;
      places.set(id, { index, delta: (rest) => ({ [name]: rest }) });
      shown[name] = await streamed.write(id, piece, name === 'content' ? 'text' : 'thought');
    }
    if (Array.isArray(said.reasoning_details)) {
      // One after another: several may be pieces of one text.
      const details: unknown[] = [];
      for (const detail of said.reasoning_details) details.push(await showDetail(index, detail));
      if (details.some((detail, at) => detail !== (said.reasoning_details as unknown[])[at]))
        shown.reasoning_details = details;
    }
    for (const id of streamed.open()) {
      // What is thought ends where the answer begins.
      const isOver = finish_reason || (said.content && id !== `${index} content`);
      const place = places.get(id);
      if (place === undefined || place.index !== index || !isOver) continue;
      const rest = await streamed.end(id);
      if (rest !== '') addRest(shown, place.delta(rest));
    }
    if (sameOr(said, shown) === said) return choice;
    return isObject(delta) ? { ...choice, delta: shown } : { ...choice, text: shown.content };
  }

  async function rest(): Promise<readonly JsonObject[]> {
    const choices: JsonObject[] = [];
    for (const id of streamed.open()) {
      const text = await streamed.end(id);
      const { index, delta } = places.get(id) ?? {};
      const said = text === '' ? undefined : delta?.(text);
      if (said !== undefined) choices.push({ index, delta: said, text: said.content, finish_reason: null });
    }
    return choices;
  }

  return { show, rest };
}

function addRest(delta: Record<string, unknown>, rest: JsonObject): void {
  for (const [name, value] of Object.entries(rest)) {
    const before = delta[name];
    if (Array.isArray(value)) delta[name] = [...(Array.isArray(before) ? before : []), ...value];
    else if (value !== '') delta[name] = `${before ?? ''}${value}`;
  }
}

/** The first of two objects where their members are the same. */
function sameOr(given: JsonObject, shown: JsonObject): JsonObject {
  return Object.entries(shown).every(([name, value]) => given[name] === value) ? given : shown;
}
