import { LRUCache } from 'lru-cache';
import { checkTools, EFFECTS, type Effect, policyOf, type ToolPolicies, type ToolPolicy } from './tool-policy.js';

/** The effect of a tool, and where that is known from. */
export interface KnownEffect {
  readonly effect: Effect;
  readonly why: 'policy' | 'host' | 'annotation' | 'name' | 'unknown name';
}

/** A tool by name, with the effect that the guard assumes for it. */
export interface KnownTool extends KnownEffect {
  readonly tool: string;
}

export interface Effects {
  /** Reads the annotations of a tool's definition, where it has any. */
  readDefinition(tool: string | undefined, definition: unknown): void;
  /** `declared`: by the host, for one call. */
  of(tool: string | undefined, declared?: Effect): KnownEffect;
  /** The same for a call that is made: the tool is listed from then on. */
  ofCall(tool: string | undefined, declared?: Effect): KnownEffect;
  /** The tools that the policy names, that were defined and that were called, by name; of the latter two the newest 2,000. */
  list(): readonly KnownTool[];
  /** Declarations of the operator about a tool. */
  policyOf(tool: string | undefined): ToolPolicy;
}

/** Definitions and called tools that are remembered, each. */
const MAX_TOOLS = 2_000;

const VERBS: Readonly<Record<Effect, ReadonlySet<string>>> = {
  read: words(
    'get list read search find fetch query lookup look show view check describe count browse load retrieve inspect preview summarize summarise calculate compute compare translate validate verify analyze analyse download select scan watch ask recall grep glob ls cat is has who what',
  ),
  write: words(
    'write create update delete remove set add edit insert put save move rename append patch modify cancel schedule reschedule reserve change drop revoke reset rm clear archive mark assign close merge replace upsert store register enable disable restore copy accept approve reject unsubscribe block open',
  ),
  send: words(
    'send post publish share forward reply respond email mail message comment notify invite transfer pay wire upload push tweet submit book buy purchase order checkout donate withdraw deposit refund dispatch broadcast dm announce export relay transmit deliver remit grant',
  ),
  execute: words('exec execute run eval shell bash spawn deploy install invoke launch start kill terminal'),
};

/** Verbs that are also things: behind another verb, as in `get_post`, they are what it is about. */
const THINGS = words(
  'post share reply email mail message comment invite transfer wire upload tweet book purchase order checkout deposit refund dispatch broadcast dm export grant update set edit move patch schedule change drop archive mark close merge store register copy block open run eval shell bash terminal deploy install launch start',
);
/** Things that stand before what is done with them: `email_search` reads. */
const OBJECTS = words('email mail message comment order post share export');
/** A verb before one of these says which of them: `get_send_status` reads. */
const KINDS = words(
  'access address audit button code count counts date dates delay details duration error errors event events form forms history id ids info instructions job jobs key keys limit limits link links list log logs message messages method methods notification notifications option options page pages params parameters period periods permission permissions policy policies price queue rate rates receipt receipts report reports request requests result results rule rules schema session sessions settings stats state status stub stubs template templates time times token tokens type types url urls',
);
/** Things that pass on what is written to them, such as a webhook. */
const RECEIVERS = words('collaborator forwarding webhook attendee invitation');
const JOINTS = words('and or then plus');

function words(list: string): ReadonlySet<string> {
  return new Set(list.split(' '));
}

/** @throws TypeError as `checkTools` */
export function createEffects(tools: ToolPolicies = {}): Effects {
  checkTools(tools);
  const defined = new LRUCache<string, { readonly annotation: Effect | undefined }>({ max: MAX_TOOLS });
  const called = new LRUCache<string, { readonly declared: Effect | undefined }>({ max: MAX_TOOLS });
  const of: Effects['of'] = (tool = '', declared) =>
    effectOf(tool, { policy: policyOf(tools, tool), declared, annotation: defined.get(tool)?.annotation });
  return {
    policyOf: (tool) => policyOf(tools, tool),
    readDefinition(tool, definition) {
      if (tool === undefined) return;
      const before = defined.get(tool)?.annotation;
      const effect = annotatedEffect(definition) ?? before;
      // Several servers may have tools of one name.
      defined.set(tool, { annotation: effect && graver(effect, before ?? effect) });
    },
    of,
    ofCall(tool, declared) {
      if (tool !== undefined) called.set(tool, { declared });
      return of(tool, declared);
    },
    list() {
      const names = new Set([...Object.keys(tools), ...defined.keys(), ...called.keys()]);
      return [...names].sort().map((tool) => ({ tool, ...of(tool, called.get(tool)?.declared) }));
    },
  };
}

/** The effect of a tool: as declared by the policy, by the host, by its annotation, or by the verbs of its name. */
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
  // A server says this of itself: it isn't believed where it makes less of what the name says.
  if (annotation !== undefined && (named === undefined || graver(annotation, named) !== named))
    return { effect: annotation, why: 'annotation' };
  return named === undefined ? { effect: 'write', why: 'unknown name' } : { effect: named, why: 'name' };
}

function graver(a: Effect, b: Effect): Effect {
  return EFFECTS.indexOf(a) > EFFECTS.indexOf(b) ? a : b;
}

/** Without `openWorldHint` a tool that writes reaches others. @see Model Context Protocol, ToolAnnotations */
function annotatedEffect(definition: unknown): Effect | undefined {
  const { annotations } = (typeof definition === 'object' && definition !== null ? definition : {}) as {
    readonly annotations?: Readonly<Record<string, unknown>> | null;
  };
  const { readOnlyHint, openWorldHint, destructiveHint } = annotations ?? {};
  if (readOnlyHint === false) return openWorldHint === false ? 'write' : 'send';
  if (destructiveHint === true) return 'write';
  return readOnlyHint === true ? 'read' : undefined;
}

/** The gravest effect that a name such as `mail.sendMessage` or `mcp__server__get_and_forward` says, behind the last `__`. */
function namedEffect(tool: string): Effect | undefined {
  const named = tool
    .replace(/^.*__(?=.)/s, '')
    .slice(0, 200)
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((word) => word !== '');
  let gravest: Effect | undefined;
  for (let from = 0; from < named.length; ) {
    const joint = named.findIndex((word, at) => at >= from && JOINTS.has(word));
    const end = joint < 0 ? named.length : joint;
    const effect = clauseEffect(named.slice(from, end));
    if (effect !== undefined) gravest = graver(effect, gravest ?? effect);
    from = end + 1;
  }
  return gravest;
}

/** The effect of words such as `email search` or `get send status`. */
function clauseEffect(clause: readonly string[]): Effect | undefined {
  const verbs = clause.flatMap((word, at) => {
    const effect = EFFECTS.find((each) => VERBS[each].has(word));
    return effect === undefined ? [] : [{ word, effect, isKind: KINDS.has(clause[at + 1] ?? '') }];
  });
  const [first, ...others] = verbs;
  if (first === undefined) return undefined;
  const rest = others.filter(({ word, isKind }) => !isKind && !THINGS.has(word)).map(({ effect }) => effect);
  const own = OBJECTS.has(first.word) && rest.includes('read') ? 'read' : first.effect;
  const gravest = rest.reduce(graver, own);
  return gravest === 'write' && clause.some((word) => RECEIVERS.has(word)) ? 'send' : gravest;
}
