import { LRUCache } from 'lru-cache';
import type RE2 from 're2';
import type { RegexMemory } from '../../engine/ports.js';

/** One compiled pattern while it is held. */
interface Held {
  readonly regex: RE2;
  readonly bytes: number;
}

/** Compiled patterns up to a bound of memory; which were not used lately are dropped, and compiled again when needed. */
export interface PatternMemory {
  /** Holds what `compile` makes, which it may call again. */
  hold(source: string, compile: () => RE2): HeldPattern;
  readonly use: RegexMemory;
}

export interface HeldPattern {
  /** Gives the pattern, which is about to read so many bytes. */
  toRead(bytes: number): RE2;
  /** Notes that it matched. */
  matched(): void;
}

/**
 * Bytes of native memory, fitted to 1,341 patterns of the core pack after 8,000 texts (bench/record/memory.md): the program and its parse
 * tree by the length of the source, the reverse program that a first match makes, and the automaton's states by the bytes read. RE2 bounds
 * a pattern's automata itself.
 */
const BYTES_PER_PATTERN = 3_000;
const BYTES_PER_CHARACTER = 93;
const REVERSE_BYTES_PER_CHARACTER = 84;
const BYTES_PER_BYTE_READ = 0.19;
const MOST_BYTES_OF_STATES = 2_500_000;

/** The estimate is brought up to date in steps. */
const STEP = 8_192;

/**
 * node-re2 frees a pattern when V8 collects its object, and doesn't tell V8 of the native memory behind it. After this much was dropped, V8
 * is told: it starts a collection once 64 MB more are held outside its heap, and pages that are never written take no memory.
 */
const BYTES_BEFORE_COLLECTION = 16 * 2 ** 20;
const UNWRITTEN_BYTES = 72 * 2 ** 20;

export function createPatternMemory(limitMb: number): PatternMemory {
  let dropped = 0;
  const held = new LRUCache<object, Held>({
    maxSize: Math.max(1, Math.round(limitMb * 2 ** 20)),
    sizeCalculation: ({ bytes }) => bytes,
    dispose({ bytes }, _, reason) {
      if (reason === 'evict') dropped += bytes;
    },
  });
  const keep = (key: object, regex: RE2, bytes: number): void => {
    held.delete(key);
    held.set(key, { regex, bytes });
    if (!held.has(key)) dropped += bytes;
    if (dropped < BYTES_BEFORE_COLLECTION) return;
    dropped = 0;
    new ArrayBuffer(UNWRITTEN_BYTES);
  };
  return {
    hold(source, compile) {
      const key = {};
      const program = BYTES_PER_PATTERN + BYTES_PER_CHARACTER * source.length;
      let read = 0;
      let hasMatched = false;
      const estimate = (): number => {
        const reverse = hasMatched ? REVERSE_BYTES_PER_CHARACTER * source.length : 0;
        return Math.ceil(program + reverse + Math.min(read * BYTES_PER_BYTE_READ, MOST_BYTES_OF_STATES));
      };
      keep(key, compile(), estimate());
      return {
        toRead(bytes) {
          const found = held.get(key);
          if (!found) {
            read = 0;
            hasMatched = false;
          }
          read += bytes;
          const regex = found?.regex ?? compile();
          if (!found || estimate() - found.bytes >= STEP) keep(key, regex, estimate());
          return regex;
        },
        matched() {
          hasMatched = true;
        },
      };
    },
    get use() {
      return { limitMb, usedMb: Math.ceil(held.calculatedSize / 2 ** 20) };
    },
  };
}
