/** Finds ways out in a text that comes in pieces, and holds back what could still become one. */
import { cutText } from '../../redact.js';
import type { FlowPolicy } from '../flow-policy.js';
import { catchUp } from '../run-log.js';
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

/**
 * Characters that are held back at most. In what is still open then each link counts as if it were shown in the worst way:
 * no address of an honest answer is as long, and few blocks of code are.
 */
const MAX_HELD = 16_384;
/** A text is read again once it has grown by this share, so that all readings together are linear but for a logarithm. */
const GROWTH = 1 / 64;
/** Signs without which there is no target. */
const TARGET_SIGN = /[:/\\?#&<]|www\.|\]\(/i;
/** Characters that end a bare address; within JSON a quote ends it, too. */
const BREAK = /[\s\u3000-\u303f\uff00-\uff60]/;
const JSON_BREAK = /[\s\u3000-\u303f\uff00-\uff60"]/;
/** A secret may be spelled over words: whole sentences are shown. */
const SENTENCE_END = /[.!?\u3002\uff01\uff1f]["')\]]{0,3}\s|\n/g;

/** Starts a text of a run. */
export async function openOutput(
  run: RunMemory,
  flow: FlowPolicy,
  action: OutputRuling['action'],
): Promise<OutputPieces> {
  await catchUp(run);
  return new OutputPieces(run, flow, action);
}

/**
 * A text of the model that comes in pieces. What is shown of it is what would be shown of the whole, however it is divided, as long
 * as no more than `MAX_HELD` characters are held back.
 */
export class OutputPieces {
  readonly #run: RunMemory;
  readonly #flow: FlowPolicy;
  readonly #action: OutputRuling['action'];
  readonly #canaries: readonly string[];
  /** Starts of links whose rest goes without a note. */
  readonly #noted = new Set<number>();
  #text = '';
  /** The end of the text that isn't shown yet. Apart, since the whole text would be copied for each look at it. */
  #held = '';
  /** Lengths: of what was shown, up to the last break, and of the text when it was read last. */
  #shown = 0;
  #broken = 0;
  #read = 0;
  #isJson: boolean | undefined;
  /** Whether any sign that follows may belong to a target. */
  #isOpen = false;

  constructor(run: RunMemory, flow: FlowPolicy, action: OutputRuling['action']) {
    this.#run = run;
    this.#flow = flow;
    this.#action = action;
    this.#canaries = [...run.canaries];
  }

  /** Takes the next piece, and returns what may be shown by now. */
  next(piece: string): ShownPiece {
    this.#text += piece;
    this.#held += piece;
    if (this.#action === 'report') return this.#pass(this.#text.length, []);
    if (this.#isJson === undefined && /\S/.test(piece)) this.#isJson = /^\s*[[{]/.test(piece);
    const hasSecrets = this.#canaries.length > 0;
    const last = hasSecrets ? sentenceEnd(this.#held) : lastBreak(piece, this.#isJson);
    if (last > 0) this.#broken = this.#text.length - (hasSecrets ? this.#held : piece).length + last;
    const fresh = this.#held.slice(0, Math.max(0, this.#broken - this.#shown));
    const isTooLong = this.#held.length > MAX_HELD;
    const hasGrown = this.#text.length - this.#read >= this.#text.length * GROWTH;
    const isPlain = !hasSecrets && !this.#isOpen && !TARGET_SIGN.test(fresh);
    if (isPlain && !isTooLong) return this.#pass(this.#shown + fresh.length, []);
    return isTooLong || (fresh !== '' && hasGrown) ? this.#readOn(isTooLong) : this.#pass(this.#shown, []);
  }

  /** Returns the rest. What is written after it may go on with a target. */
  rest(): ShownPiece {
    this.#isOpen = true;
    const isShown = this.#action === 'report';
    const leaks = leaksIn(this.#run.state, this.#text, this.#flow, this.#canaries, isShown ? 0 : this.#shown);
    if (!isShown) return this.#pass(this.#text.length, leaks);
    return { ruling: ruleLeaks(leaks, this.#action, this.#flow), redact: () => '' };
  }

  #readOn(isTooLong: boolean): ShownPiece {
    this.#read = this.#text.length;
    const whole = isTooLong ? this.#text : this.#text.slice(0, this.#broken);
    const found = unfinishedLeaks(this.#run.state, whole, this.#flow, this.#canaries, this.#shown);
    const { leaks, openFrom, undecidedFrom, isInTag } = found;
    this.#isOpen = isInTag || isTooLong;
    if (isTooLong) return this.#pass(this.#text.length, leaks);
    return this.#pass(undivided(Math.min(this.#broken, openFrom, undecidedFrom), leaks), leaks);
  }

  /** Shows the text up to an offset, without the leaks in it. */
  #pass(to: number, leaks: readonly FoundLeak[]): ShownPiece {
    const from = this.#shown;
    this.#shown = Math.max(from, to);
    const piece = this.#held.slice(0, this.#shown - from);
    this.#held = this.#held.slice(this.#shown - from);
    const found = leaks.filter(({ span }) => span.start < this.#shown && span.end > from);
    const cuts = found.filter((leak) => isCut(leak, this.#flow));
    const fresh = found.filter(({ span }) => !this.#noted.has(span.start));
    const isFresh = new Set(fresh.map(({ span }) => span.start));
    for (const { span } of cuts) this.#noted.add(span.start);
    return {
      ruling: ruleLeaks(fresh, this.#action, this.#flow),
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
}

/** The offset, or the start of the first leak that it would divide. */
function undivided(to: number, leaks: readonly FoundLeak[]): number {
  return leaks.reduceRight((at, { span }) => (span.start < at && span.end > at ? span.start : at), to);
}

function sentenceEnd(text: string): number {
  const last = [...text.matchAll(SENTENCE_END)].at(-1);
  return last === undefined ? 0 : last.index + last[0].length;
}

function lastBreak(text: string, isJson = false): number {
  const sign = isJson ? JSON_BREAK : BREAK;
  for (let at = text.length; at > 0; at -= 1) if (sign.test(text.charAt(at - 1))) return at;
  return 0;
}
