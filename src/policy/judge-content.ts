/** Asks the analyzer about the inputs of a content, and about what stands around its joints. */

import type { Input } from '../engine/input.js';
import { orderedMap } from '../engine/limit.js';
import { type Content, readContent } from './content.js';
import type { OwnTexts } from './own-texts.js';
import type { Enforcement } from './policy.js';
import type { Joints } from './run/pieces/joints.js';
import type { Read } from './run/remember.js';
import {
  digestInput,
  inTime,
  type Screened,
  type Screener,
  type ScreeningRequest,
  ScreeningTimeout,
} from './screener.js';

/** Verdicts of the analyzer on a content. */
export interface Judged {
  readonly input?: Input;
  /** The verdict on it, or the one of the highest score; undefined where all inputs are the guard's own texts. */
  readonly found?: Screened | undefined;
  /** Enforcement that an earlier layer left to this one. */
  readonly left?: Enforcement | undefined;
  /** The inputs that were screened. */
  readonly read: readonly Read[];
}

/** The analyzer that is asked about texts, and the guard's own texts, which it is not asked about. */
export interface Asked {
  readonly screener: Screener;
  readonly own: Pick<OwnTexts, 'take'>;
}

/** Rounds of cutting and screening again, for each input of a content. */
const REDACTIONS = 3;
/** Pieces around joints that are screened at a time. */
const AT_ONCE = 8;

/** Screens the inputs of a content, up to one that is blocked. */
export async function judgeInputs(
  { screener, own }: Asked,
  inputs: readonly Input[],
  request: ScreeningRequest,
): Promise<Judged> {
  let highest: Screened | undefined;
  const read: Read[] = [];
  for (const input of inputs) {
    const digest = digestInput(input, request.channel);
    const mine = own.take(digest);
    if (mine?.left !== undefined) return { left: mine.left, read };
    if (mine !== undefined) continue;
    const found = await screener.screen(input, request.task === undefined ? { ...request, digest } : request);
    read.push({ input, found });
    if (found.verdict.verdict !== 'allow') return { input, found, read };
    if (highest === undefined || found.verdict.score > highest.verdict.score) highest = found;
  }
  return { found: highest, read };
}

/** Cuts out what is blocked until the rest is allowed; undefined where it never is. `asJson`: as `readContent` takes it. */
export async function redactContent(
  asked: Asked,
  first: Content,
  judged: Judged,
  request: ScreeningRequest,
  asJson: boolean,
): Promise<{ readonly value: unknown; readonly content: Content; readonly read: readonly Read[] } | undefined> {
  let content = first;
  let { input, found, read } = judged;
  for (let round = 0; round < REDACTIONS * first.inputs.length; round += 1) {
    const value = input && found && content.cut(input, found.spans);
    if (value === undefined) return undefined;
    content = readContent(value, asJson);
    ({ input, found, read } = await judgeInputs(asked, content.inputs, request));
    if (input === undefined) return { value, content, read };
  }
  return undefined;
}

/**
 * Judges joints, once where they may pass: the verdict where the pieces together are blocked, and none alone is. `timeoutMs` is for
 * all of them.
 *
 * @throws ScreeningTimeout; the signal's reason
 */
export async function judgeJoints(
  asked: Asked,
  joints: Joints,
  request: ScreeningRequest,
  timeoutMs: number,
): Promise<Screened | undefined> {
  const end = new AbortController();
  let blocked: Screened | undefined;
  const note = (found: Screened | undefined): void => {
    blocked = found;
  };
  try {
    const judged = judgePieces(asked, joints, { ...request, signal: end.signal }, note);
    return await inTime(judged, timeoutMs, request.signal);
  } catch (error) {
    // Blocked together, and not known to be so for one piece alone.
    if (error instanceof ScreeningTimeout && blocked !== undefined) return blocked;
    throw error;
  } finally {
    end.abort();
  }
}

async function judgePieces(
  asked: Asked,
  joints: Joints,
  request: ScreeningRequest,
  noteBlocked: (found: Screened | undefined) => void,
): Promise<Screened | undefined> {
  for (let [pieces] = joints.pieces; pieces !== undefined; [pieces] = joints.pieces) {
    const { input, found } = await judgeInputs(asked, [...new Set([pieces.join('\n'), rejoined(pieces)])], request);
    const isBlocked = input !== undefined;
    noteBlocked(isBlocked ? found : undefined);
    const rest: string[] = [];
    const screen = async (piece: string) => ({ piece, alone: await asked.screener.screen(piece, request) });
    for await (const { piece, alone } of orderedMap(isBlocked ? pieces : [], screen, { items: AT_ONCE }))
      if (alone.verdict.verdict === 'allow') rest.push(piece);
    if (rest.length === pieces.length) return found;
    // What is blocked alone, such as a quoted attack, was allowed where it stands.
    joints.pieces = [...(rest.length < 2 ? [] : [rest]), ...joints.pieces.slice(1)];
  }
  return undefined;
}

/** Joins pieces by line breaks, except where a word may go on: there the next piece begins with a small letter. */
function rejoined(pieces: readonly string[]): string {
  return pieces.reduce((text, piece) => {
    const isWordSplit = /\p{L}$/u.test(text) && /^[\p{Ll}\p{Lo}]/u.test(piece);
    return text + (isWordSplit ? '' : '\n') + piece;
  });
}
