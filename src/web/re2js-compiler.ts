import { RE2JS } from 're2js';
import type { Pattern, PatternSet, RegexCompiler } from '../engine/ports.js';
import type { Span } from '../engine/span.js';

/** RE2 in JavaScript (linear time) behind the engine's port: the same matches as native RE2, slower. */
export const re2jsCompiler: RegexCompiler = {
  prepare: (text) => ({ text }),
  compile(source): Pattern {
    const regex = RE2JS.compile(source);
    return {
      occursIn: ({ text }, { start, end }) =>
        regex.test(start <= 0 && end >= text.length ? text : text.slice(start, end)),
      findAll: ({ text }, max) => (regex.test(text) ? findAll(regex, text, max) : NOWHERE),
    };
  },
  compileSet(sources): PatternSet {
    const regexes = sources.map((source) => RE2JS.compile(source));
    return { match: ({ text }) => regexes.flatMap((regex, index) => (regex.test(text) ? [index] : [])) };
  },
};

const NOWHERE: readonly Span[] = [];

function findAll(regex: RE2JS, text: string, max: number): readonly Span[] {
  const spans: Span[] = [];
  const matcher = regex.matcher(text);
  while (spans.length < max && matcher.find()) spans.push({ start: matcher.start(), end: matcher.end() });
  return spans;
}
