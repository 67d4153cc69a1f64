import { type Budget, leaveUnseen, startBudget } from './budget.js';
import { derive } from './derive.js';
import type { Draft } from './draft.js';
import { fold, foldAscii, foldPlain } from './normalize/fold.js';
import { wellFormed } from './normalize/well-formed.js';
import { composeMaps, IDENTITY_MAP } from './offset-map.js';
import { pieces } from './pieces.js';
import type { Rewritten } from './rewrite.js';
import { type Features, scanFeatures } from './scan-features.js';
import { DEFAULT_TEXT_LIMITS, type TextLimits } from './text-limits.js';
import type { View, ViewSet } from './view.js';

const RAW_CHAIN: readonly string[] = [];
const FOLDED_CHAIN: readonly string[] = ['fold'];
/** Shorter readings say nothing. */
const MIN_VIEW = 4;
/** Squeezings that may follow one another on top of the decodings. */
const MAX_SQUEEZES = 4;
/** Fewer disguised characters are an emoji or a spelling. */
const MIN_DISGUISED = 4;

/**
 * All readings of an input: raw and folded first, always and whole; then what it spaces out, encodes or hides, as far
 * as the limits reach. Total on any string; time and memory are linear in its length.
 */
export function buildViews(input: string, limits: TextLimits = DEFAULT_TEXT_LIMITS): ViewSet {
  const features = scanFeatures(input);
  const text = features.surrogates ? wellFormed(input) : input;
  const root: Draft = { kind: 'raw', chain: RAW_CHAIN, text, map: IDENTITY_MAP, depth: 0, freshMarkup: true };
  const folded = foldDraft(root, features);
  const views: View[] = [{ kind: 'raw', chain: RAW_CHAIN, text, map: IDENTITY_MAP }, folded];
  const budget = startBudget(input.length, limits);
  if (text.length <= limits.piece) {
    addDerived(startLayer(root, folded, features), new Set([folded.text]), views, limits, budget);
  } else {
    for (const piece of pieces(root, limits)) {
      const found = scanFeatures(piece.text);
      addDerived(startLayer(piece, foldDraft(piece, found), found), new Set(), views, limits, budget);
    }
  }
  return { views, unseen: budget.unseen };
}

/** A draft, and its fold where that undoes a disguise that decoders would not see through. */
function startLayer(draft: Draft, folded: View, features: Features): Layer {
  if (features.disguised < MIN_DISGUISED) return [[draft, features]];
  const undone: Draft = { ...draft, chain: folded.chain, text: folded.text, map: folded.map, freshMarkup: false };
  return [
    [draft, features],
    [undone, scanFeatures(folded.text)],
  ];
}

type Layer = readonly (readonly [Draft, Features])[];

/** Adds what lies behind the drafts, layer by layer, each text once. */
function addDerived(start: Layer, seen: Set<string>, views: View[], limits: TextLimits, budget: Budget): void {
  for (let layer = start; layer.length > 0; ) {
    const next: (readonly [Draft, Features])[] = [];
    for (const [draft, found] of layer) {
      for (const child of derive(draft, found, limits, budget)) {
        const features = scanFeatures(child.text);
        const view = foldDraft(child, features);
        if (view.text.length < MIN_VIEW || seen.has(view.text)) continue;
        seen.add(view.text);
        if (child.depth > limits.maxDepth || child.chain.length > limits.maxDepth + MAX_SQUEEZES) {
          const span = child.map.toInput({ start: 0, end: child.text.length });
          leaveUnseen(budget, span, child.chain.at(-1) ?? '', 'maxDepth');
          continue;
        }
        views.push(view);
        next.push(...startLayer(child, view, features));
      }
    }
    layer = next;
  }
}

function foldText(text: string, features: Features): Rewritten {
  if (features.plain) return foldPlain(text);
  return features.ascii ? foldAscii(text, features.spaces) : fold(text);
}

function foldDraft(draft: Draft, features: Features): View {
  const { text, map } = foldText(draft.text, features);
  const root = draft.kind === 'raw';
  return {
    kind: root ? 'folded' : draft.kind,
    chain: root ? FOLDED_CHAIN : [...draft.chain, 'fold'],
    text,
    map: composeMaps(map, draft.map),
  };
}
