import RE2 from 're2';
import type { RegexCompiler } from '../src/engine/ports.js';

/** The bare matchers that the engine's time is set against: the same patterns, nothing but the pass itself. */
export interface BareSets {
  readonly patterns: number;
  /** One `RE2.Set` of every pattern, asked once with the text. */
  readonly one: (text: string) => unknown;
  /** The same patterns in the engine's own shards. */
  readonly sharded: (text: string) => unknown;
}

/** A compiler that also notes the sources of every set it builds. */
export const recordingCompiler = (
  compiler: RegexCompiler,
): { readonly compiler: RegexCompiler; readonly sets: readonly (readonly string[])[] } => {
  const sets: (readonly string[])[] = [];
  return {
    sets,
    compiler: {
      prepare: (text) => compiler.prepare(text),
      compile: (source) => compiler.compile(source),
      compileSet(sources) {
        sets.push(sources);
        return compiler.compileSet(sources);
      },
    },
  };
};

const maxMem = 256 * 1024 * 1024;

/** Builds the bare sets. A pass takes the text as a string, as a program without this library would. */
export const bareSets = (sets: readonly (readonly string[])[]): BareSets => {
  const distinct = [...new Set(sets.flat())];
  const one = new RE2.Set(distinct, 'u', { maxMem });
  const shards = sets.map((sources) => new RE2.Set([...sources], 'u', { maxMem }));
  return {
    patterns: distinct.length,
    one: (text) => one.match(text),
    sharded: (text) => shards.map((set) => set.match(text)),
  };
};
