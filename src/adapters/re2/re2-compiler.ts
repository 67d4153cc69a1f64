import type RE2Class from 're2';
import { DEFAULT_LIMITS } from '../../engine/limits.js';
import type { Pattern, PatternSet, RegexCompiler, Subject } from '../../engine/ports.js';
import type { Span } from '../../engine/span.js';
import { loadRe2 } from './load-re2.js';
import { createPatternMemory } from './pattern-memory.js';

const RE2 = loadRe2();

/** A text with its UTF-8 bytes; RE2 then matches without encoding it again for every pattern. */
interface EncodedSubject extends Subject {
  readonly bytes: Buffer;
}

/**
 * Bytes of one set's automaton, at most. RE2 throws its states away and goes on when it is full, and reports
 * out of memory only when even that doesn't help.
 */
const SET_MEMORY = 32 * 1024 * 1024;

// Bytes that never occur in UTF-8 stand around each match. Four at a time: RE2's replacement reads 0xFF as the lead of
// a four-byte character and copies it as such.
const OPEN = 0xff;
const CLOSE = 0xfe;
const MARK_LENGTH = 4;
const TEMPLATE = Buffer.from([OPEN, OPEN, OPEN, OPEN, 0x24, 0x26, CLOSE, CLOSE, CLOSE, CLOSE]);

/**
 * RE2 (linear time) behind the engine's port, its compiled patterns within a bound of memory (MiB). Pass well-formed text only: RE2 skips
 * invalid UTF-8 silently.
 */
export function createRe2Compiler(memoryMb: number): RegexCompiler {
  const memory = createPatternMemory(memoryMb);
  return {
    prepare,
    compile(source): Pattern {
      // Global, for `findAll`; `search` takes no notice of that and costs as much as `test` of a pattern that isn't.
      const held = memory.hold(source, () => new RE2(source, 'gu'));
      const isIn = (regex: RE2Class, bytes: Buffer): boolean => {
        if (regex.search(bytes) < 0) return false;
        held.matched();
        return true;
      };
      return {
        occursIn(subject, part) {
          const bytes = bytesIn(subject, part);
          return isIn(held.toRead(bytes.length), bytes);
        },
        findAll(subject, max) {
          const bytes = toBytes(subject);
          const regex = held.toRead(bytes.length);
          return isIn(regex, bytes) ? findAll(regex, subject.text, bytes, max) : NOWHERE;
        },
      };
    },
    compileSet,
    get memory() {
      return memory.use;
    },
  };
}

/** All packs of a process that ask for no bound of their own share this one. */
export const re2Compiler: RegexCompiler = createRe2Compiler(DEFAULT_LIMITS.regexMemoryMb);

function prepare(text: string): EncodedSubject {
  return { text, bytes: Buffer.from(text, 'utf8') };
}

function compileSet(sources: readonly string[]): PatternSet {
  const set = new RE2.Set([...sources], 'u', { maxMem: SET_MEMORY });
  return {
    match(subject) {
      try {
        return set.match(toBytes(subject));
      } catch {
        // Out of memory: the port's `undefined` makes the caller ask one pattern after the other.
        return undefined;
      }
    },
  };
}

const NOWHERE: readonly Span[] = [];

function toBytes(subject: Subject): Buffer {
  return 'bytes' in subject ? (subject as EncodedSubject).bytes : Buffer.from(subject.text, 'utf8');
}

function bytesIn(subject: Subject, { start, end }: Span): Buffer {
  const bytes = toBytes(subject);
  return bytes.length === subject.text.length
    ? bytes.subarray(start, end)
    : Buffer.from(subject.text.slice(start, end), 'utf8');
}

/** One native call for all matches: each `exec` costs microseconds, a marked copy of the text costs nanoseconds a match. */
function findAll(regex: RE2Class, text: string, bytes: Buffer, max: number): readonly Span[] {
  regex.lastIndex = 0;
  const marked = regex.replace(bytes, TEMPLATE);
  const spans: Span[] = [];
  let marks = 0;
  for (let at = marked.indexOf(OPEN); at >= 0 && spans.length < max; at = marked.indexOf(OPEN, at)) {
    const start = at - marks;
    const close = marked.indexOf(CLOSE, at + MARK_LENGTH);
    spans.push({ start, end: close - marks - MARK_LENGTH });
    marks += 2 * MARK_LENGTH;
    at = close + MARK_LENGTH;
  }
  return bytes.length === text.length ? spans : toCodeUnits(text, spans);
}

/**
 * Turns spans in UTF-8 bytes into spans in UTF-16 code units. `spans` ascending and disjoint; the text well-formed.
 * One pass over the text.
 */
function toCodeUnits(text: string, spans: readonly Span[]): readonly Span[] {
  let bytes = 0;
  let units = 0;
  const advance = (target: number): number => {
    while (bytes < target) {
      const code = text.charCodeAt(units);
      if (code >= 0xd800 && code <= 0xdbff) {
        bytes += 4;
        units += 2;
      } else {
        bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : 3;
        units += 1;
      }
    }
    return units;
  };
  return spans.map(({ start, end }) => ({ start: advance(start), end: advance(end) }));
}
