import type { Span } from '../../span.js';
import type { ProgramClass } from './char-class.js';
import { BEGINS_AT_WORD, BEGINS_BEYOND, HEADER, type Programs, REMEMBERS } from './programs.js';

/** Steps for each character of a text, on average, before places are remembered. */
const FREE_STEPS = 6;
/** Steps of any search, at most. */
const MOST_STEPS = 2 ** 30;
/** Words of `visited`, at most: 8 MB. */
const MOST_WORDS = 2 ** 21;
/** Words of `stack`, and of `frames`, at most: 16 MB each. */
const MOST_OPEN = 2 ** 22;

// The memory of a search, kept from one to the next: searches are synchronous.

/** Ways to try when the present one fails: address, place, frame, end of the frames. */
let stack = new Int32Array(4096);
/** Calls that have not returned: address to return to, frame of the caller. */
let frames = new Int32Array(256);
/** By place and mark, whether the program was there: a bit each, from the place `origin` on. */
let visited = new Uint32Array(1024);
let origin = 0;
/** Places that there is room for, those of them that `visited` is ready for, and its words for each. */
let places = 0;
let ready = 0;
let wordsPerPlace = 0;
let isRemembering = false;
/** Steps that are left before places are remembered. */
let free = 0;
/** Where `free` is when the search gives up. */
let least = 0;

const NOWHERE: readonly Span[] = [];

/**
 * Finds the matches of a program that begin in `[low, high]`, leftmost first, without overlap; at most `most`. `text` is well-formed UTF-16.
 *
 * Backtracks, with the leftmost-first choices of RE2 and Perl. Linear in the text all the same: after a number of steps every mark of the
 * program remembers the places where it was, and none is visited twice. Memory is bounded: in a text that needs it, a match that goes on
 * for longer than `MOST_WORDS` has room for isn't found, nor one that leaves more choices open than `MOST_OPEN` has. That is far more than
 * a segment needs, for any program. After `patience` more steps a character it gives up: what was found so far is all.
 */
export function search(
  programs: Programs,
  header: number,
  text: Uint16Array,
  { start: low, end: high }: Span,
  most: number,
  patience: number,
): readonly Span[] {
  const { code } = programs;
  const { length } = text;
  // Whole numbers, not floating ones: V8 has other code for each.
  const from = Math.max(0, low) | 0;
  const to = Math.min(length, high) | 0;
  const flags = code[header + 8] as number;
  const isBeyond = (flags & BEGINS_BEYOND) !== 0;
  const isAtWord = (flags & BEGINS_AT_WORD) !== 0;
  wordsPerPlace = Math.max(1, ((code[header + 9] as number) + 31) >> 5);
  isRemembering = false;
  free = (flags & REMEMBERS) === 0 ? FREE_STEPS * (to - from + 64) : -1;
  least = Math.max(-MOST_STEPS, -patience * (to - from + 64)) | 0;
  let spans: Span[] | undefined;
  for (let start = from; start <= to; start++) {
    if (start < length) {
      const unit = text[start] as number;
      if (unit < 0x80) {
        if (!isIn(code, header, unit)) continue;
      } else if (!isBeyond || ((unit & 0xfc00) === 0xdc00 && start > 0)) continue;
      if (isAtWord && isWordUnit(unit) === (start > 0 && isWordUnit(text[start - 1] as number))) continue;
    }
    if (isRemembering && start - origin > places >> 1) forget(start, length);
    const end = matchAt(programs, header + HEADER, text, start);
    if (end < 0) {
      if (free < least) break;
      continue;
    }
    spans ??= [];
    spans.push({ start, end });
    if (spans.length === most) break;
    // Where the match went through does not fail; all of it lies before its end.
    if (isRemembering) visited.fill(0, (end - origin) * wordsPerPlace, (end - origin + 1) * wordsPerPlace);
    start = Math.max(start, end - 1);
  }
  return spans ?? NOWHERE;
}

/** Gives the end of the match that begins at `start`; -1 for none. */
// Long: the interpreter's loop: state in local variables, one case for each instruction.
function matchAt({ code, classes, ascii }: Programs, address: number, text: Uint16Array, start: number): number {
  const { length } = text;
  let pc = address;
  let at = start;
  let depth = 0;
  let frame = 0;
  let top = 2;
  for (;;) {
    instructions: for (;;) {
      switch (code[pc]) {
        case 0: // END
          return at;
        case 1: {
          // TEXT
          const count = code[pc + 1] as number;
          if (at + count > length) break instructions;
          pc += 2;
          for (const to = at + count; at < to; at++, pc++) if (text[at] !== code[pc]) break instructions;
          continue;
        }
        case 2: {
          // ONE
          if (at >= length) break instructions;
          const unit = text[at] as number;
          if (unit < 0x80) {
            if (ascii[((code[pc + 1] as number) << 7) + unit] === 0) break instructions;
            at += 1;
          } else {
            const to = stepOver(text, at, classes[code[pc + 1] as number] as ProgramClass);
            if (to < 0) break instructions;
            at = to;
          }
          pc += 2;
          continue;
        }
        case 3: // MANY
        case 16: {
          // MANY_ALL
          const mayBeFewer = code[pc] === 3;
          const number = code[pc + 1] as number;
          const least = code[pc + 2] as number;
          const most = code[pc + 3] as number;
          const follow = pc + 4;
          let count = 0;
          pc += mayBeFewer ? 12 : 4;
          for (; count < most && at < length; count++) {
            const unit = text[at] as number;
            let to = at + 1;
            if (unit < 0x80) {
              if (ascii[(number << 7) + unit] === 0) break;
            } else {
              to = stepOver(text, at, classes[number] as ProgramClass);
              if (to < 0) break;
            }
            if (mayBeFewer && count >= least && (unit >= 0x80 || isIn(code, follow, unit))) {
              depth = keep(depth, pc, at, frame, top);
              if (depth < 0) return -1;
            }
            at = to;
          }
          free -= count;
          if (count < least) break instructions;
          continue;
        }
        case 4: // STAR
        case 17: {
          // STAR_ALL
          const mayBeFewer = code[pc] === 4;
          const number = code[pc + 1] as number;
          const mark = code[pc + 2] as number;
          const follow = pc + 3;
          pc += mayBeFewer ? 11 : 3;
          for (;;) {
            if (free < 0 && wasAt(mark, at, start, length)) break instructions;
            if (at >= length) break;
            const unit = text[at] as number;
            let to = at + 1;
            if (unit < 0x80) {
              if (ascii[(number << 7) + unit] === 0) break;
            } else {
              to = stepOver(text, at, classes[number] as ProgramClass);
              if (to < 0) break;
            }
            if (mayBeFewer && (unit >= 0x80 || isIn(code, follow, unit))) {
              depth = keep(depth, pc, at, frame, top);
              if (depth < 0) return -1;
            }
            free -= 1;
            at = to;
          }
          continue;
        }
        case 5: // EDGE
          if (!isEdge(text, code[pc + 1] as number, at)) break instructions;
          pc += 2;
          continue;
        case 6: // JUMP
          pc += code[pc + 1] as number;
          continue;
        case 7: // FORK
          depth = keep(depth, pc + (code[pc + 1] as number), at, frame, top);
          if (depth < 0) return -1;
          pc += 2;
          continue;
        case 8: // FORK_LAST
          depth = keep(depth, pc + 2, at, frame, top);
          if (depth < 0) return -1;
          pc += code[pc + 1] as number;
          continue;
        case 9: {
          // TABLE
          const place = at + (code[pc + 1] as number);
          const offset = place < length ? (text[place] as number) - (code[pc + 2] as number) : -1;
          const count = code[pc + 3] as number;
          pc += code[pc + 4 + (offset >= 0 && offset < count ? offset : count)] as number;
          continue;
        }
        case 10: {
          // SEARCH
          const place = at + (code[pc + 1] as number);
          const unit = place < length ? (text[place] as number) : -1;
          const count = code[pc + 2] as number;
          const units = pc + 3;
          let from = units;
          let to = units + count;
          while (from < to) {
            const middle = (from + to) >> 1;
            if ((code[middle] as number) < unit) from = middle + 1;
            else to = middle;
          }
          pc += code[count + (from < units + count && code[from] === unit ? from : units + count)] as number;
          continue;
        }
        case 11: // MARK
          free -= 1;
          if (free < 0 && wasAt(code[pc + 1] as number, at, start, length)) break instructions;
          pc += 2;
          continue;
        case 13: // CALL
          if (top + 2 > frames.length && !lengthenFrames()) return -1;
          frames[top] = pc + 3;
          frames[top + 1] = frame;
          frame = top;
          top += 2;
          pc = ((code[pc + 1] as number) << 16) + (code[pc + 2] as number);
          continue;
        case 14: // RETURN
          pc = frames[frame] as number;
          frame = frames[frame + 1] as number;
          continue;
        case 15: // CHAR
          if (at >= length || text[at] !== code[pc + 1]) break instructions;
          at += 1;
          pc += 2;
          continue;
        case 18: // LOOP
          pc -= code[pc + 1] as number;
          continue;
        case 19: {
          // FORK_IF
          const unit = at < length ? (text[at] as number) : 0;
          if (at >= length || (unit < 0x80 && !isIn(code, pc + 2, unit))) {
            pc += code[pc + 1] as number;
            continue;
          }
          depth = keep(depth, pc + (code[pc + 1] as number), at, frame, top);
          if (depth < 0) return -1;
          pc += 10;
          continue;
        }
      }
      // FAIL is none of these.
      break;
    }
    if (depth === 0) return -1;
    top = stack[--depth] as number;
    frame = stack[--depth] as number;
    at = stack[--depth] as number;
    pc = stack[--depth] as number;
    free -= 1;
    if (free < least) return -1;
  }
}

/** Whether an ASCII character is a member of the bits at an address. */
function isIn(code: Uint16Array, bits: number, unit: number): boolean {
  return (((code[bits + (unit >> 4)] as number) >> (unit & 15)) & 1) === 1;
}

/** Forgets where the program was, and remembers from a place on. */
function forget(start: number, length: number): void {
  isRemembering = true;
  origin = start;
  places = Math.min(length + 1 - start, Math.floor(MOST_WORDS / wordsPerPlace));
  ready = 0;
}

/** Whether the program was at a mark at this place before, and so failed from there; true as well for a place there is no room for. */
function wasAt(mark: number, at: number, start: number, length: number): boolean {
  if (!isRemembering) forget(start, length);
  const place = at - origin;
  if (place >= ready) {
    if (place >= places) return true;
    makeReady(place);
  }
  const word = place * wordsPerPlace + (mark >> 5);
  const bit = 1 << (mark & 31);
  const seen = visited[word] as number;
  if ((seen & bit) !== 0) return true;
  visited[word] = seen | bit;
  return false;
}

/** Clears `visited` for a place and some behind it: a search often needs few. */
function makeReady(place: number): void {
  const from = ready * wordsPerPlace;
  ready = Math.min(places, place + 64);
  const to = ready * wordsPerPlace;
  if (to > visited.length) {
    const longer = new Uint32Array(Math.min(MOST_WORDS, Math.max(to, 2 * visited.length)));
    longer.set(visited.subarray(0, from));
    visited = longer;
  } else visited.fill(0, from, to);
}

/** Gives the end of the character beyond ASCII that begins at `at`; -1 when the class lacks it. */
function stepOver(text: Uint16Array, at: number, { hasBeyond }: ProgramClass): number {
  const unit = text[at] as number;
  if ((unit & 0xfc00) !== 0xd800 || at + 1 >= text.length) return hasBeyond(unit) ? at + 1 : -1;
  const low = (text[at + 1] as number) & 0x3ff;
  return hasBeyond(0x10000 + ((unit & 0x3ff) << 10) + low) ? at + 2 : -1;
}

/** Whether the edge of a number, in the order of `EDGES`, is at a place. */
function isEdge(text: Uint16Array, edge: number, at: number): boolean {
  const { length } = text;
  switch (edge) {
    case 0:
      return at === 0;
    case 1:
      return at === length;
    case 2:
      return at === 0 || text[at - 1] === 10;
    case 3:
      return at === length || text[at] === 10;
    default: {
      const isBefore = at > 0 && isWordUnit(text[at - 1] as number);
      const isAfter = at < length && isWordUnit(text[at] as number);
      return (isBefore !== isAfter) === (edge === 4);
    }
  }
}

function isWordUnit(unit: number): boolean {
  return (
    (unit >= 0x61 && unit <= 0x7a) || (unit >= 0x30 && unit <= 0x39) || (unit >= 0x41 && unit <= 0x5a) || unit === 0x5f
  );
}

/** Keeps what is tried when the present way fails; gives the new depth of the stack, -1 where it has no room. */
function keep(depth: number, pc: number, at: number, frame: number, top: number): number {
  if (depth + 4 > stack.length) {
    if (stack.length >= MOST_OPEN) return -1;
    stack = lengthen(stack);
  }
  stack[depth] = pc;
  stack[depth + 1] = at;
  stack[depth + 2] = frame;
  stack[depth + 3] = top;
  return depth + 4;
}

/** False where it is as long as it may be. */
function lengthenFrames(): boolean {
  if (frames.length >= MOST_OPEN) return false;
  frames = lengthen(frames);
  return true;
}

function lengthen(words: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const longer = new Int32Array(words.length * 2);
  longer.set(words);
  return longer;
}
