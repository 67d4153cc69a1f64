import { LRUCache } from 'lru-cache';
import type { Flow } from './flow.js';
import { isOneArgument } from './flow-policy.js';
import { isShortened } from './tool-name.js';
import type { ValueKind } from './values.js';

/** Effect of a tool beyond its response, from harmless to grave. */
export type Effect = 'read' | 'write' | 'send' | 'execute';

/** Values of one kind that an argument of a tool may carry although they come from data. */
export interface AcceptedValue {
  /** Tool whose results they stand in. */
  readonly from: string;
  /** Path of the argument, with `[*]` for every index: `to[*]`, `event.attendees[*].email`. */
  readonly argument: string;
  readonly kind: ValueKind;
  /** Default `foreign`: a value of a suspicious passage is not accepted. */
  readonly level?: Flow['level'] | undefined;
}

/** Declaration of a host or an operator about a tool. */
export interface ToolPolicy {
  readonly effect?: Effect | undefined;
  /** Arguments that say where a `send` goes; default: all. */
  readonly to?: readonly string[] | undefined;
  /** Values from data that calls may carry: what `portcullis flow report` writes of confirmed ones. Default: none. */
  readonly accepts?: readonly AcceptedValue[] | undefined;
}

/** The effect of a tool, and where that is known from. */
export interface KnownEffect {
  readonly effect: Effect;
  readonly why: 'policy' | 'host' | 'annotation' | 'name' | 'unknown name';
}

/** Finds out the effects of tools. */
export interface Effects {
  /** Reads the annotations of a tool's definition, where it has any. */
  readDefinition(tool: string | undefined, definition: unknown): void;
  /** `declared`: by the host, for one call. */
  of(tool: string | undefined, declared?: Effect): KnownEffect;
  /** Declarations of the operator about a tool. */
  policyOf(tool: string | undefined): ToolPolicy;
}

/** Definitions whose annotations are remembered. */
const MAX_TOOLS = 2_000;
const EFFECTS: readonly Effect[] = ['read', 'write', 'send', 'execute'];

const VERBS: Readonly<Record<Effect, ReadonlySet<string>>> = {
  read: new Set(
    'get list read search find fetch query lookup look show view check describe count browse open load retrieve inspect preview summarize summarise calculate compute compare translate validate verify analyze analyse download select scan watch ask recall grep glob ls cat is has who what'.split(
      ' ',
    ),
  ),
  write: new Set(
    'write create update delete remove set add edit insert put save move rename append patch modify cancel schedule reschedule reserve change drop grant revoke reset rm clear archive mark assign close merge replace upsert store register enable disable restore copy accept approve reject unsubscribe block'.split(
      ' ',
    ),
  ),
  send: new Set(
    'send post publish share forward reply respond email mail message comment notify invite transfer pay wire upload push tweet submit book buy purchase order checkout donate withdraw deposit refund dispatch broadcast dm announce export'.split(
      ' ',
    ),
  ),
  execute: new Set(
    'exec execute run eval shell bash spawn deploy install invoke launch start kill terminal'.split(' '),
  ),
};

/** @throws TypeError for an effect that does not exist, or a member of `accepts` that is none */
export function createEffects(tools: Readonly<Record<string, ToolPolicy>> = {}): Effects {
  for (const [tool, { effect, accepts }] of Object.entries(tools)) {
    if (effect !== undefined && !EFFECTS.includes(effect))
      throw new TypeError(`${String(effect)} is not an effect of a tool; choose one of ${EFFECTS.join(', ')}`);
    if (accepts !== undefined) checkAccepted(tool, accepts);
  }
  const policyOf = (tool = ''): ToolPolicy => (Object.hasOwn(tools, tool) ? (tools[tool] ?? {}) : {});
  const annotated = new LRUCache<string, Effect>({ max: MAX_TOOLS });
  return {
    policyOf,
    readDefinition(tool, definition) {
      const effect = annotatedEffect(definition);
      if (tool !== undefined && effect !== undefined) annotated.set(tool, effect);
    },
    of(tool = '', declared) {
      const chosen = policyOf(tool).effect;
      if (chosen !== undefined) return { effect: chosen, why: 'policy' };
      if (declared !== undefined) return { effect: declared, why: 'host' };
      const named = namedEffect(tool);
      const annotation = annotated.get(tool);
      // A server says this of itself: it isn't believed against the name.
      const isDoubtful = annotation === 'read' && (named === 'send' || named === 'execute');
      if (annotation !== undefined && !isDoubtful) return { effect: annotation, why: 'annotation' };
      return named === undefined ? { effect: 'write', why: 'unknown name' } : { effect: named, why: 'name' };
    },
  };
}

const ACCEPTED = ['from', 'argument', 'kind', 'level'];

function checkAccepted(tool: string, accepts: unknown): void {
  const isValue = (value: unknown): value is AcceptedValue => {
    if (typeof value !== 'object' || value === null) return false;
    const { from, argument, kind, level = 'foreign' } = value as Partial<AcceptedValue>;
    const isKnown = Object.keys(value).every((name) => ACCEPTED.includes(name));
    const isComplete = [from, argument, kind].every((member) => typeof member === 'string');
    return isKnown && isComplete && (level === 'foreign' || level === 'suspicious');
  };
  if (!Array.isArray(accepts) || !accepts.every(isValue))
    throw new TypeError(
      "accepts of a tool is a list of { from, argument, kind, level? }, level 'foreign' or 'suspicious'",
    );
  if (isShortened(tool) || accepts.some(({ from, argument }) => isShortened(from) || !isOneArgument(argument)))
    throw new TypeError(
      'accepts of a tool permits nothing by "(a name of … characters)" or "[?]": they stand for many tools and arguments',
    );
}

/** @see Model Context Protocol, ToolAnnotations */
function annotatedEffect(definition: unknown): Effect | undefined {
  const { annotations } = (typeof definition === 'object' && definition !== null ? definition : {}) as {
    readonly annotations?: { readonly readOnlyHint?: unknown; readonly openWorldHint?: unknown } | null;
  };
  if (typeof annotations !== 'object' || annotations === null) return undefined;
  if (annotations.readOnlyHint === true) return 'read';
  if (annotations.readOnlyHint === false) return annotations.openWorldHint === true ? 'send' : 'write';
  return undefined;
}

/** Verbs that are also things: in `email_search` the other verb counts. */
const THINGS = new Set(['email', 'mail', 'message', 'comment', 'order', 'post', 'share', 'export']);

/** The effect of the first verb in a name such as `mail.sendMessage` or `create_issue`. */
function namedEffect(tool: string): Effect | undefined {
  const words = tool
    .slice(0, 200)
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/);
  const verbs = words.flatMap((word) => {
    const effect = EFFECTS.find((each) => VERBS[each].has(word));
    return effect === undefined ? [] : [{ word, effect }];
  });
  const [first, ...others] = verbs;
  if (first === undefined) return undefined;
  return THINGS.has(first.word) && others.some(({ effect }) => effect === 'read') ? 'read' : first.effect;
}
