import { composeMaps, type OffsetMap } from './offset-map.js';
import type { Rewritten } from './rewrite.js';
import type { Features } from './scan-features.js';
import type { ViewKind } from './view.js';

/** A reading before it is folded. Well-formed. */
export interface Draft {
  readonly kind: ViewKind;
  readonly chain: readonly string[];
  readonly text: string;
  /** Back to the input. */
  readonly map: OffsetMap;
  /** Decodings and hiding places that lie within one another up to here. */
  readonly depth: number;
  /** What the last step made: start and end in the text, in turn, ascending. Undefined: all of it. */
  readonly fresh?: readonly number[] | undefined;
  /** True when the last step may have made markup. */
  readonly freshMarkup: boolean;
  /** What the text before showed of ciphers: the same again is the same reading again. */
  readonly before?: Features | undefined;
}

const RANK: Readonly<Record<ViewKind, number>> = { raw: 0, folded: 0, squeezed: 1, decoded: 2, hidden: 3 };

/** A reading made of another: what is hidden stays hidden however it is decoded, and what is decoded decoded. */
export function deriveDraft(
  from: Draft,
  kind: ViewKind,
  transforms: readonly string[],
  made: Rewritten,
  news: Pick<Draft, 'fresh' | 'freshMarkup' | 'before'>,
): Draft {
  return {
    kind: RANK[kind] >= RANK[from.kind] ? kind : from.kind,
    chain: [...from.chain, ...transforms],
    text: made.text,
    map: composeMaps(made.map, from.map),
    depth: from.depth + (kind === 'squeezed' ? 0 : 1),
    ...news,
  };
}
