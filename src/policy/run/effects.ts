import { LRUCache } from 'lru-cache';
import { checkTools, EFFECTS, type Effect, policyOf, type ToolPolicies, type ToolPolicy } from './tool-policy.js';

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

/** @throws TypeError as `checkTools` */
export function createEffects(tools: ToolPolicies = {}): Effects {
  checkTools(tools);
  const annotated = new LRUCache<string, Effect>({ max: MAX_TOOLS });
  return {
    policyOf: (tool) => policyOf(tools, tool),
    readDefinition(tool, definition) {
      const effect = annotatedEffect(definition);
      if (tool !== undefined && effect !== undefined) annotated.set(tool, effect);
    },
    of: (tool = '', declared) =>
      effectOf(tool, { policy: policyOf(tools, tool), declared, annotation: annotated.get(tool) }),
  };
}

/** The effect of a tool: as declared by the policy, by the host, by its annotation, or by the verb of its name. */
export function effectOf(
  tool: string,
  {
    policy,
    declared,
    annotation,
  }: {
    readonly policy: ToolPolicy;
    readonly declared?: Effect | undefined;
    readonly annotation?: Effect | undefined;
  },
): KnownEffect {
  if (policy.effect !== undefined) return { effect: policy.effect, why: 'policy' };
  if (declared !== undefined) return { effect: declared, why: 'host' };
  const named = namedEffect(tool);
  // A server says this of itself: it isn't believed against the name.
  const isDoubtful = annotation === 'read' && (named === 'send' || named === 'execute');
  if (annotation !== undefined && !isDoubtful) return { effect: annotation, why: 'annotation' };
  return named === undefined ? { effect: 'write', why: 'unknown name' } : { effect: named, why: 'name' };
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
