/** Finds ways out in a text that comes in pieces, and holds back what could still become one. */
import { cutText } from '../../redact.js';
import type { FlowPolicy } from '../flow-policy.js';
import { catchUp } from '../remember.js';
import type { RunMemory } from '../run-memory.js';
import { type FoundLeak, leaksIn, unfinishedLeaks } from './leaks.js';
import { isCut, type OutputRuling, ruleLeaks } from './rule-output.js';

/** The text that may be shown by now. */
export interface ShownPiece {
  /** On the ways out in it; undefined where there are none. */
  readonly ruling: OutputRuling | undefined;
  /** The piece with a note in the place of each target. */
  redact(noteOf: (rule: string) => string): string;
}

/** A text of the model that comes in pieces. */
export interface OutputPieces {
  /** Takes the next piece, and returns what may be shown by now. */
  next(piece: string): ShownPiece;
  /** Returns the rest. */
  rest(): ShownPiece;
}

/**
 * Characters that are held back at most. In what is still open then each link counts as if it were shown in the worst way:
 * no address of an honest answer is as long, and few blocks of code are.
 */
const MAX_HELD = 16_384;
/** A text is read again once it has grown by this share, so that all readings together are linear but for a logarithm. */
const GROWTH = 1 / 64;
/** Signs without which there is no target. */
const TARGET_SIGN = /[:/\\?#&<]|www\./i;
/** Where no bare address goes on; within JSON a quote ends it, too. */
const BREAK = /[\s\u3000-\u303f\uff00-\uff60]/;
const JSON_BREAK = /[\s\u3000-\u303f\uff00-\uff60"]/;
/** A secret may be spelled over words: whole sentences are shown. */
const SENTENCE_END = /[.!?\u3002\uff01\uff1f]["')\]]{0,3}\s|\n/g;

/**
 * Starts a text. What is shown of it is what would be shown of the whole, however it is divided, as long as no more than
 * `MAX_HELD` characters are held back.
 */
export async function openOutput(
  run: RunMemory,
  flow: FlowPolicy,
  action: OutputRuling['action'],
): Promise<OutputPieces> {
  await catchUp(run);
  const canaries = [...run.canaries];
  let text = '';
  /** The end of the text that isn't shown yet. Apart, since the whole text would be copied for each look at it. */
  let held = '';
  /** Lengths: of what was shown, up to the last break, and of the text when it was read last. */
  let shown = 0;
  let broken = 0;
  let read = 0;
  let isJson: boolean | undefined;
  /** Whether any sign that follows may belong to a target. */
  let isOpen = false;
  /** Starts of links whose rest goes without a note. */
  const noted = new Set<number>();

  function pass(to: number, leaks: readonly FoundLeak[]): ShownPiece {
    const from = shown;
    shown = Math.max(shown, to);
    const piece = held.slice(0, shown - from);
    held = held.slice(shown - from);
    const found = leaks.filter(({ span }) => span.start < shown && span.end > from);
    const cuts = found.filter((leak) => isCut(leak, flow));
    const fresh = found.filter(({ span }) => !noted.has(span.start));
    const isFresh = new Set(fresh.map(({ span }) => span.start));
    for (const { span } of cuts) noted.add(span.start);
    return {
      ruling: ruleLeaks(fresh, action, flow),
      redact: (noteOf) =>
        cutText(
          piece,
          cuts.map(({ span, rule }) => ({
            start: span.start - from,
            end: span.end - from,
            text: isFresh.has(span.start) ? noteOf(rule) : '',
          })),
        ),
    };
  }

  function readOn(): ShownPiece {
    read = text.length;
    const isTooLong = held.length > MAX_HELD;
    const whole = isTooLong ? text : text.slice(0, broken);
    const { leaks, openFrom, undecidedFrom, ...open } = unfinishedLeaks(run.state, whole, flow, canaries, shown);
    isOpen = open.isInTag || isTooLong;
    if (isTooLong) return pass(text.length, leaks);
    return pass(undivided(Math.min(broken, openFrom, undecidedFrom), leaks), leaks);
  }

  return {
    next(piece) {
      text += piece;
      held += piece;
      if (action === 'report') return pass(text.length, []);
      if (isJson === undefined && /\S/.test(piece)) isJson = /^\s*[[{]/.test(piece);
      const last = canaries.length > 0 ? sentenceEnd(held) : lastBreak(piece, isJson);
      if (last > 0) broken = text.length - (canaries.length > 0 ? held : piece).length + last;
      const fresh = held.slice(0, Math.max(0, broken - shown));
      const isRead = held.length > MAX_HELD || (fresh !== '' && text.length - read >= text.length * GROWTH);
      const isPlain = canaries.length === 0 && !isOpen && !TARGET_SIGN.test(fresh);
      if (isPlain && held.length <= MAX_HELD) return pass(shown + fresh.length, []);
      return isRead ? readOn() : pass(shown, []);
    },
    rest() {
      if (action !== 'report') return pass(text.length, leaksIn(run.state, text, flow, canaries, shown));
      // All of it was shown.
      const ruling = ruleLeaks(leaksIn(run.state, text, flow, canaries), action, flow);
      return { ruling, redact: () => '' };
    },
  };
}

/** The offset, or the start of the first leak that it would divide. */
function undivided(to: number, leaks: readonly FoundLeak[]): number {
  return leaks.reduceRight((at, { span }) => (span.start < at && span.end > at ? span.start : at), to);
}

/** The length of a text up to the end of its last sentence; 0 without any. */
function sentenceEnd(text: string): number {
  const last = [...text.matchAll(SENTENCE_END)].at(-1);
  return last === undefined ? 0 : last.index + last[0].length;
}

/** The length of a text up to its last break; 0 without any. */
function lastBreak(text: string, isJson = false): number {
  const sign = isJson ? JSON_BREAK : BREAK;
  for (let at = text.length; at > 0; at -= 1) if (sign.test(text.charAt(at - 1))) return at;
  return 0;
}
