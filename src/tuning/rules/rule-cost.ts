import { re2Compiler } from '../../adapters/re2/re2-compiler.js';
import { compilePack } from '../../engine/rules/compile-pack.js';
import type { Pack } from '../../engine/rules/types.js';
import { buildViews } from '../../engine/text/views.js';

/** How often all texts are scanned; the fastest round counts, since the machine has other work too. */
const rounds = 3;

/**
 * What each rule costs alone, in microseconds a text (the mean over the texts, of the fastest of 3 rounds), on views
 * that are built: what the rule needs beyond them. In the whole pack rules share a search, and cost less.
 * Takes some milliseconds a rule.
 */
export const ruleCosts = (pack: Pack, texts: readonly string[]): ReadonlyMap<string, number> => {
  const views = texts.map((text) => buildViews(text).views);
  const costs = new Map<string, number>();
  if (views.length === 0) return costs;
  for (const { id } of pack.layers.flatMap(({ rules }) => rules)) {
    const layers = pack.layers.map((layer) => ({ ...layer, rules: layer.rules.filter((rule) => rule.id === id) }));
    const alone = compilePack({ ...pack, layers }, re2Compiler);
    let least = Number.POSITIVE_INFINITY;
    for (let round = 0; round < rounds; round++) {
      const start = performance.now();
      for (const view of views) alone.scan(view, { paranoia: 3, exhaustive: true });
      least = Math.min(least, performance.now() - start);
    }
    costs.set(id, Math.round((least * 10_000) / views.length) / 10);
  }
  return costs;
};
