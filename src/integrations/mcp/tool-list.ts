import { orderedMap } from '../../engine/limit.js';
import type { Guard } from '../../policy/index.js';
import { shownName } from '../../policy/run/tool-name.js';
import type { GatewayEvent } from './pin-event.js';
import { type Judgement, MAX_TOOL_NAME, MAX_TOOLS, type OfferedTool, type Pins, readTool } from './pins.js';
import type { Asked } from './requests.js';
import { screenServerValue } from './screen-values.js';

export interface GatewayOptions {
  readonly guard: Guard;
  /** Undefined: tool definitions are screened but not pinned. */
  readonly pins?: Pins | undefined;
  /** Reports what would be hidden, denied or replaced, and passes it on. The guard's policy has to agree. */
  readonly dryRun?: boolean | undefined;
  readonly report: (event: GatewayEvent) => void;
}

/** Tools of one page; more are hidden. */
const MAX_PAGE = 2_000;
/** Tools that are reported; further ones are reported each time. */
const MAX_REPORTED = 10_000;
const TOO_MANY = `the server has listed more than ${MAX_TOOLS} tools`;
/** Definitions screened at once. */
const AT_ONCE = 8;

const REASONS: Readonly<Record<NonNullable<GatewayEvent['change']>, string>> = {
  added: 'the tool is new and not approved',
  changed: 'the tool has changed since it was approved',
  renamed: 'the tool has a new name and is not approved',
  lookalike: 'the name of the tool is easily taken for another',
  blocked: 'the definition of the tool was blocked',
  unscreened: 'the definition of the tool could not be screened',
  malformed: `a tool without a name, with one of more than ${MAX_TOOL_NAME} characters, or with one that clients read differently`,
  repeated: 'the tool is listed twice',
};

interface Offer {
  readonly value: unknown;
  readonly tool: OfferedTool;
}

/** The tools of a server, as they may be shown and called. */
export class ToolList {
  readonly #options: Omit<GatewayOptions, 'guard'>;
  /** Judgements of each tool by the listings of this process. */
  readonly #listed = new Map<string, Judgement & { readonly digest: string }>();
  /** Whether a tool was hidden for lack of room: a forgotten judgement would let a blocked one be called. */
  #isOverfull = false;
  readonly #reported = new Set<string>();

  constructor(options: Omit<GatewayOptions, 'guard'>) {
    this.#options = options;
  }

  /** The definitions that may be shown; `asked` is undefined for a response to no known request. */
  async show(
    guard: Guard,
    tools: readonly unknown[],
    asked: Asked | undefined,
    nextCursor: unknown,
  ): Promise<readonly unknown[]> {
    const { dryRun, report } = this.#options;
    // A tool's result that also has a list says nothing of what may be called.
    const isListing = asked === undefined || asked.method === 'tools/list';
    const tellLimit = (reason: string): void =>
      report({ event: 'limit', runId: guard.runId, action: dryRun ? 'report' : 'hide', reason });
    if (tools.length > MAX_PAGE) tellLimit(`a list of more than ${MAX_PAGE} tools`);
    const screened = await this.#screenAll(guard, tools.slice(0, MAX_PAGE), asked);
    const offers = screened.filter((each) => typeof each !== 'string');
    const judgements = isListing ? await this.#judge(offers, asked, nextCursor) : offers.map(judgeAlone);
    if (isListing)
      for (const each of screened)
        if (typeof each === 'string') this.#remember(each, { change: 'changed', digest: '' });
    let forgotten = 0;
    const kept = offers.flatMap(({ value, tool }, index) => {
      const judgement = judgements[index] ?? { change: 'added' };
      const { change } = judgement;
      if (isListing && !this.#remember(tool.name, { ...judgement, digest: tool.digest })) {
        forgotten += 1;
        return [];
      }
      if (change === undefined) return [value];
      // The guard has reported what it blocked or couldn't screen.
      if (change !== 'blocked' && change !== 'unscreened')
        this.#hide(guard, tool.name, change, tool.digest, judgement.of);
      return [];
    });
    if (forgotten > 0) tellLimit(TOO_MANY);
    return dryRun ? tools : kept;
  }

  /** Returns the reason why a tool may not be called, and reports it; undefined where it may. */
  async deny(guard: Guard, name: string, { call }: Asked): Promise<string | undefined> {
    const { pins, dryRun } = this.#options;
    const refuse = (said: Pick<GatewayEvent, 'change' | 'reason'>): string | undefined => {
      this.#tell(String(call.runId ?? guard.runId), name, { ...said, action: 'deny' });
      return dryRun ? undefined : said.reason;
    };
    if (name.length > MAX_TOOL_NAME) return refuse({ change: 'malformed', reason: REASONS.malformed });
    const known = this.#listed.get(name);
    const judgement = known ?? (await pins?.judgeUnlisted(name));
    if (judgement === undefined && this.#isOverfull) return refuse({ reason: TOO_MANY });
    const change = judgement?.change;
    if (change === undefined) return undefined;
    // It may have been approved since.
    if (known !== undefined && (await pins?.approvedByPerson())?.has(known.digest)) return undefined;
    return refuse({ change, reason: `${REASONS[change]}; see portcullis mcp pins list` });
  }

  /** Returns false where there are too many tools already. */
  #remember(name: string, judgement: Judgement & { readonly digest: string }): boolean {
    if (this.#listed.size >= MAX_TOOLS && !this.#listed.has(name)) {
      this.#isOverfull = true;
      return false;
    }
    this.#listed.set(name, judgement);
    return true;
  }

  #tell(runId: string, tool: string, said: Pick<GatewayEvent, 'change' | 'action' | 'reason'>): void {
    const { dryRun, report } = this.#options;
    report({ event: 'tool_pin', runId, tool: shownName(tool), ...said, ...(dryRun && { action: 'report' }) });
  }

  #hide(guard: Guard, tool: string, change: keyof typeof REASONS, digest = '', of?: string): void {
    const key = `${change}\0${tool}\0${digest}`;
    if (this.#reported.has(key)) return;
    if (this.#reported.size < MAX_REPORTED) this.#reported.add(key);
    const reason = REASONS[change] + (of === undefined ? '' : `: ${shownName(of)}`);
    this.#tell(guard.runId, tool, { change, action: 'hide', reason });
  }

  /** Screens the definitions; of those that clients read differently, and of tools that are listed twice, the names. */
  async #screenAll(
    guard: Guard,
    values: readonly unknown[],
    asked: Asked | undefined,
  ): Promise<readonly (Offer | string)[]> {
    const read = values.map((value) => ({ value, tool: readTool(value) }));
    const digests = new Map<string, string>();
    const repeated = new Set<string>();
    for (const { tool } of read) {
      if (tool !== undefined && (digests.get(tool.name) ?? tool.digest) !== tool.digest) repeated.add(tool.name);
      if (tool !== undefined) digests.set(tool.name, tool.digest);
    }
    const approved = (await this.#options.pins?.approvedByPerson()) ?? new Set<string>();
    return screenEach(read, async ({ value, tool }) => {
      if (tool === undefined || repeated.has(tool.name)) {
        this.#hide(guard, tool?.name ?? '', tool === undefined ? 'malformed' : 'repeated', tool?.digest);
        return tool?.name ?? '';
      }
      if (approved.has(tool.digest)) {
        guard.readDefinition(tool.name, value);
        return { value, tool: { ...tool, blocked: undefined } };
      }
      const call = { ...asked?.call, tool: shownName(tool.name) };
      const { enforcement } = await screenServerValue(guard, 'tool_definition', value, call);
      return { value, tool: { ...tool, blocked: enforcement } };
    });
  }

  /** Judges the offers of a listing by the pins, if there are any. */
  async #judge(offers: readonly Offer[], asked: Asked | undefined, nextCursor: unknown): Promise<readonly Judgement[]> {
    const { pins } = this.#options;
    if (pins === undefined) return offers.map(judgeAlone);
    const next = typeof nextCursor === 'string' ? nextCursor : undefined;
    const page = { cursor: asked?.cursor, nextCursor: next, asked: asked !== undefined };
    const tools = offers.map(({ tool }) => tool);
    return pins.judge(page, tools);
  }
}

function judgeAlone({ tool }: Offer): Judgement {
  return { change: tool.blocked === undefined ? undefined : 'blocked' };
}

/** The results of screening each item, in their order; a few are screened at once. */
export async function screenEach<Item, Result>(
  items: readonly Item[],
  screen: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for await (const result of orderedMap(items, screen, { items: AT_ONCE })) results.push(result);
  return results;
}
