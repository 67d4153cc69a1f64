import RE2 from 're2';
import type { RegexCompiler } from '../src/engine/ports.js';

/** The bare matchers that the engine's time is set against: the same patterns, nothing but the pass itself. */
export interface BareSets {
  readonly patterns: number;
  /** As few `RE2.Set`s of every pattern as RE2 compiles (one, up to some 1,800 patterns), each asked once with the text. */
  readonly one: (text: string) => unknown;
  /** The same patterns in sets of 24, which is the cheaper way to ask them all. */
  readonly sharded: (text: string) => unknown;
}

/** A compiler that also notes the source of every pattern it compiles. */
export function recordingCompiler(compiler: RegexCompiler): {
  readonly compiler: RegexCompiler;
  readonly sources: ReadonlySet<string>;
} {
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
}

const MAX_MEM = 256 * 1024 * 1024;
const SHARD_SIZE = 24;

/** One set of the patterns, or of each half where together they are more than RE2 compiles. */
const fewestSets = (patterns: readonly string[]): readonly InstanceType<typeof RE2.Set>[] => {
  try {
    return [new RE2.Set([...patterns], 'u', { maxMem: MAX_MEM })];
  } catch (error) {
    if (patterns.length < 2) throw error;
    const half = Math.ceil(patterns.length / 2);
    return [...fewestSets(patterns.slice(0, half)), ...fewestSets(patterns.slice(half))];
  }
};

/** Builds the bare sets. A pass takes the text as a string, as a program without this library would. */
export function bareSets(sources: ReadonlySet<string>): BareSets {
  const distinct = [...sources];
  const fewest = fewestSets(distinct);
  const shards = Array.from(
    { length: Math.ceil(distinct.length / SHARD_SIZE) },
    (_, at) => new RE2.Set(distinct.slice(at * SHARD_SIZE, (at + 1) * SHARD_SIZE), 'u', { maxMem: MAX_MEM }),
  );
  return {
    patterns: distinct.length,
    one: (text) => fewest.map((set) => set.match(text)),
    sharded: (text) => shards.map((set) => set.match(text)),
  };
}
