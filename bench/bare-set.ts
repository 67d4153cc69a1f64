import RE2 from 're2';
import type { RegexCompiler } from '../src/engine/ports.js';

/** The bare matchers that the engine's time is set against: the same patterns, nothing but the pass itself. */
export interface BareSets {
  readonly patterns: number;
  /** One `RE2.Set` of every pattern, asked once with the text. */
  readonly one: (text: string) => unknown;
  /** The same patterns in sets of 24, which is the cheaper way to ask them all. */
  readonly sharded: (text: string) => unknown;
}

/** A compiler that also notes the source of every pattern it compiles. */
export const recordingCompiler = (
  compiler: RegexCompiler,
): { readonly compiler: RegexCompiler; readonly sources: ReadonlySet<string> } => {
  const sources = new Set<string>();
  return {
    sources,
    compiler: {
      prepare: (text) => compiler.prepare(text),
      compile(source) {
        sources.add(source);
        return compiler.compile(source);
      },
      compileSet: (set) => compiler.compileSet(set),
    },
  };
};

const maxMem = 256 * 1024 * 1024;
const shardSize = 24;

/** Builds the bare sets. A pass takes the text as a string, as a program without this library would. */
export const bareSets = (sources: ReadonlySet<string>): BareSets => {
  const distinct = [...sources];
  const one = new RE2.Set(distinct, 'u', { maxMem });
  const shards = Array.from(
    { length: Math.ceil(distinct.length / shardSize) },
    (_, at) => new RE2.Set(distinct.slice(at * shardSize, (at + 1) * shardSize), 'u', { maxMem }),
  );
  return {
    patterns: distinct.length,
    one: (text) => one.match(text),
    sharded: (text) => shards.map((set) => set.match(text)),
  };
};
