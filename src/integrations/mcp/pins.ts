import { hash } from 'node:crypto';
import { canonicalJson } from '../../engine/canonical-json.js';
import { checkOptions } from '../../engine/options.js';
import { fold } from '../../engine/text/normalize/fold.js';
import type { Enforcement } from '../../policy/index.js';
import { isObject } from '../json-value.js';
import { hasOtherCase } from './messages.js';
import type { PinChange } from './pin-event.js';
import { type PinnedServer, type PinnedTool, readPins, updatePins } from './pin-file.js';

export interface OfferedTool {
  readonly name: string;
  /** SHA-256 of the whole definition's canonical JSON, 64 hex digits. */
  readonly digest: string;
  /** The same without the name. */
  readonly body: string;
  readonly definition: string;
  /** Set where the engine blocked the definition. */
  readonly blocked: Enforcement | undefined;
}

/** Whether a tool may be shown and called; `of` is the former name of a renamed tool, or the name that it resembles. */
export type Judgement =
  | { readonly change: undefined }
  | { readonly change: PinChange; readonly of?: string | undefined; readonly rejected?: true | undefined };

/** A page of `tools/list`. */
export interface ListingPage {
  /** The cursor that the client asked for; undefined for the first page. */
  readonly cursor: string | undefined;
  readonly nextCursor: string | undefined;
  /** False for a response whose request isn't known. */
  readonly asked: boolean;
}

/** The tool definitions of one server that were approved, and what it offers now. */
export interface Pins {
  /** The digests of the definitions that a person approved: the engine isn't asked about them. */
  approvedByPerson(): Promise<ReadonlySet<string>>;
  /** Judges a page, in its order, and keeps what it learned. */
  judge(page: ListingPage, tools: readonly OfferedTool[]): Promise<readonly Judgement[]>;
  /** Whether a tool that wasn't listed in this process may be called; undefined where the server has no pins to say so. */
  judgeUnlisted(name: string): Promise<Judgement | undefined>;
  /** Ends the trust of a first use: the server says that its list has changed. */
  endFirstUse(): void;
}

/** File of the pins, and the server that they are for. */
export interface PinsOptions {
  readonly path: string;
  /** Name of the server in the file. */
  readonly server: string;
  /** Trusts no definition on first use. Default false. */
  readonly requireApproval?: boolean | undefined;
}

/** Definitions that are longer are pinned by their digest alone, and can't be shown to a person. */
const KEPT_DEFINITION = 16_384;
/** Characters of the definitions kept of one server; further ones are pinned by their digest alone, too. */
const KEPT_DEFINITIONS = 1_000 * KEPT_DEFINITION;
/** Tools of one server that are remembered and pinned; further ones are hidden. */
export const MAX_TOOLS = 10_000;
/** UTF-16 units of a tool's name; MCP recommends at most 128 characters. */
export const MAX_TOOL_NAME = 200;

/** Reads a tool that a server offers. Returns undefined for a definition that clients may read in different ways. */
export function readTool(value: unknown): Omit<OfferedTool, 'blocked'> | undefined {
  if (!isObject(value) || typeof value.name !== 'string' || value.name === '') return undefined;
  if (value.name.length > MAX_TOOL_NAME) return undefined;
  if (hasOtherCase(value, ['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations']))
    return undefined;
  const definition = canonicalJson(value);
  const body = canonicalJson({ ...value, name: undefined });
  return { name: value.name, digest: hash('sha256', definition), body: hash('sha256', body), definition };
}

/**
 * Returns the pins of one server: the tool definitions that a person approved or that were trusted on first use. Their file is
 * read when it is needed.
 *
 * @throws TypeError for an option that does not exist
 */
export function openPins(options: PinsOptions): Pins {
  checkOptions('openPins', options, { path: true, server: true, requireApproval: true });
  const { path, server, requireApproval = false } = options;
  /** The next pages of a first listing. Each counts once. */
  const trustedCursors = new Set<string>();
  const entry = async (): Promise<PinnedServer | undefined> =>
    (await readPins(path)).find(({ name }) => name === server);
  return {
    async approvedByPerson() {
      const tools = (await entry())?.tools ?? [];
      return new Set(tools.flatMap(({ approved }) => (approved?.by === 'person' ? [approved.digest] : [])));
    },
    async judge({ cursor, nextCursor, asked }, tools) {
      let judgements: readonly Judgement[] = [];
      const continues = asked && cursor !== undefined && trustedCursors.has(cursor);
      if (continues) trustedCursors.delete(cursor);
      else trustedCursors.clear();
      await updatePins(path, (servers) => {
        const known = servers.find(({ name }) => name === server);
        const isFirst = known === undefined && asked && cursor === undefined;
        const trusting = isFirst || continues;
        if (trusting && nextCursor !== undefined) trustedCursors.add(nextCursor);
        const now = new Date().toISOString();
        const judged = judgeTools(known?.tools ?? [], tools, {
          trusting: trusting && !requireApproval,
          requireApproval,
          now,
        });
        judgements = judged.judgements;
        if (known !== undefined && judged.tools === known.tools) return undefined;
        const updated = { name: server, since: known?.since ?? now, tools: judged.tools };
        return known === undefined ? [...servers, updated] : servers.map((each) => (each === known ? updated : each));
      });
      return judgements;
    },
    async judgeUnlisted(name) {
      const known = await entry();
      if (known === undefined) return requireApproval ? { change: 'added' } : undefined;
      const pin = known.tools.find((tool) => tool.name === name);
      if (pin?.offered !== undefined) return offeredJudgement(pin.offered);
      return { change: pin?.approved === undefined ? 'added' : undefined };
    },
    endFirstUse() {
      trustedCursors.clear();
    },
  };
}

type Offered = NonNullable<PinnedTool['offered']>;

function offeredJudgement({ change, of, rejected }: Offered): Judgement {
  return { change, of, rejected };
}

/** Judges tools by their pins; gives the pins as they are then, the same list where nothing changed. */
function judgeTools(
  pinned: readonly PinnedTool[],
  offered: readonly OfferedTool[],
  { trusting, requireApproval, now }: { trusting: boolean; requireApproval: boolean; now: string },
): { readonly judgements: readonly Judgement[]; readonly tools: readonly PinnedTool[] } {
  const pins = new Map(pinned.map((tool) => [tool.name, tool]));
  const names = new Set([...pins.keys(), ...offered.map(({ name }) => name)]);
  const resembled = resemblances(names);
  const bodies = new Map(pinned.flatMap(({ name, approved }) => (approved ? [[approved.body, name] as const] : [])));
  let room = pinned.reduce((left, tool) => left - keptLength(tool), KEPT_DEFINITIONS);
  let isChanged = false;
  const keep = (tool: PinnedTool): void => {
    const replaced = pins.get(tool.name);
    pins.set(tool.name, tool);
    room += (replaced === undefined ? 0 : keptLength(replaced)) - keptLength(tool);
    isChanged = true;
  };
  const judgements = offered.map((tool): Judgement => {
    const { name, digest, body, blocked } = tool;
    const pin = pins.get(name);
    if (pin === undefined && pins.size >= MAX_TOOLS) return { change: 'added' };
    const definition = tool.definition.length > Math.min(KEPT_DEFINITION, room) ? undefined : tool.definition;
    const kept = { digest, body, ...(definition === undefined ? {} : { definition }), at: now };
    const isApproved = pin?.approved?.digest === digest;
    const failed = blocked !== undefined && blocked.cause !== 'verdict';
    if (isApproved && failed) return { change: 'unscreened' };
    if (isApproved && (blocked === undefined || pin.approved?.by === 'person')) {
      if (pin.offered !== undefined) keep({ name, approved: pin.approved });
      return { change: undefined };
    }
    const like = resembled.get(name);
    const isLate = pin?.offered?.change === 'unscreened' && pin.offered.digest === digest && !requireApproval;
    if (((trusting && pin === undefined) || isLate) && blocked === undefined && like === undefined) {
      keep({ name, approved: { ...kept, by: 'first-use' } });
      return { change: undefined };
    }
    if (pin?.offered?.digest === digest) return offeredJudgement(pin.offered);
    const former = bodies.get(body);
    const isBlocked = blocked !== undefined && !failed;
    const changes: readonly (readonly [isSo: boolean, change: PinChange, of?: string | undefined])[] = [
      [isBlocked, 'blocked'],
      [failed && trusting && pin === undefined, 'unscreened'],
      [pin?.approved !== undefined, 'changed'],
      [like !== undefined, 'lookalike', like],
      [former !== undefined, 'renamed', former],
    ];
    const [, change, of] = changes.find(([isSo]) => isSo) ?? [true, 'added' as const];
    const proof = isBlocked ? { rule: blocked.rule, evidenceId: blocked.evidenceId } : {};
    const next: Offered = { ...kept, change, ...(of === undefined ? {} : { of }), ...proof };
    keep({ name, ...(pin?.approved ? { approved: pin.approved } : {}), offered: next });
    return { change, of };
  });
  return { judgements, tools: isChanged ? [...pins.values()] : pinned };
}

/** Characters of the definitions that a pin keeps. */
function keptLength({ approved, offered }: PinnedTool): number {
  return (approved?.definition?.length ?? 0) + (offered?.definition?.length ?? 0);
}

const HIDDEN_CHARACTERS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cn}\p{Co}\p{Cs}\p{VS}]/u;

/** For each name that is easily taken for another, that other; for one with characters that can't be seen, what can. */
function resemblances(names: Iterable<string>): ReadonlyMap<string, string> {
  const bySkeleton = new Map<string, string[]>();
  for (const name of names) {
    const skeleton = computeSkeleton(name);
    bySkeleton.set(skeleton, [...(bySkeleton.get(skeleton) ?? []), name]);
  }
  const found = new Map<string, string>();
  for (const [skeleton, alike] of bySkeleton) {
    for (const name of alike) {
      if (isAscii(name)) continue;
      const other = alike.find((each) => each !== name);
      if (other !== undefined) found.set(name, other);
      else if (HIDDEN_CHARACTERS.test(name)) found.set(name, skeleton);
    }
  }
  return found;
}

/** A name with the letters of other scripts as the Latin ones that they look like. @see UTS #39, section 4 */
function computeSkeleton(name: string): string {
  if (isAscii(name)) return name.toLowerCase();
  // Confusables are read as Latin where the text around is Latin.
  const latin = 'a'.repeat(2 * name.length + 2);
  return fold(`${latin} ${name.toWellFormed()}`).text.slice(latin.length + 1);
}

function isAscii(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text);
}

/** Approves what a server offers: these tools, or all that wait; rejected ones only by name. Gives the tools approved. @throws PinFileError */
export async function approvePins(
  path: string,
  server: string,
  names: readonly string[] | 'all',
): Promise<readonly string[]> {
  return editPins(path, server, (tool) => {
    if (tool.offered === undefined) return undefined;
    if (names === 'all' ? tool.offered.rejected : !names.includes(tool.name)) return undefined;
    const { digest, body, definition } = tool.offered;
    const kept = { digest, body, ...(definition === undefined ? {} : { definition }) };
    return { name: tool.name, approved: { ...kept, at: new Date().toISOString(), by: 'person' } };
  });
}

/** Rejects what a server offers: it stays hidden and no longer waits. What was approved before stays approved. @throws PinFileError */
export async function rejectPins(
  path: string,
  server: string,
  names: readonly string[] | 'all',
): Promise<readonly string[]> {
  return editPins(path, server, (tool) => {
    if (tool.offered === undefined || tool.offered.rejected) return undefined;
    if (names !== 'all' && !names.includes(tool.name)) return undefined;
    return { ...tool, offered: { ...tool.offered, rejected: true } };
  });
}

/** Forgets a server: its next listing is a first use again. Gives the tools forgotten. @throws PinFileError */
export async function resetPins(path: string, server: string): Promise<readonly string[]> {
  const tools: string[] = [];
  await updatePins(path, (servers) => {
    tools.push(...servers.filter(({ name }) => name === server).flatMap((each) => each.tools.map(({ name }) => name)));
    return servers.some(({ name }) => name === server) ? servers.filter(({ name }) => name !== server) : undefined;
  });
  return tools;
}

async function editPins(
  path: string,
  server: string,
  edit: (tool: PinnedTool) => PinnedTool | undefined,
): Promise<readonly string[]> {
  const edited: string[] = [];
  await updatePins(path, (servers) => {
    const next = servers.map((each) => {
      if (each.name !== server) return each;
      const tools = each.tools.map((tool) => {
        const changed = edit(tool);
        if (changed !== undefined) edited.push(tool.name);
        return changed ?? tool;
      });
      return { ...each, tools };
    });
    return edited.length > 0 ? next : undefined;
  });
  return edited;
}
