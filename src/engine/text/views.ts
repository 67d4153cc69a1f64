import { edgeBefore, type Span } from '../span.js';
import { BRACKET, LESS } from './char-kinds.js';
import { readCiphers } from './decode/ciphers.js';
import { hiddenTexts } from './html/hidden.js';
import { htmlTags, removeTags } from './html/tags.js';
import { fold, foldAscii } from './normalize/fold.js';
import { composeMaps, IDENTITY_MAP, type OffsetMap } from './offset-map.js';
import { keepFresh, type Rewritten, settleReplacements, splicedLength, spliceText } from './rewrite.js';
import { type Features, scanFeatures } from './scan-features.js';
import { DECODINGS, DEOBFUSCATIONS, findRuns, type RunTransform } from './transforms.js';
import { DEFAULT_TEXT_LIMITS, type TextLimits, type Unseen, type View, type ViewKind, type ViewSet } from './view.js';

/** Shorter readings are too short to match a rule. */
const MIN_VIEW = 4;
/** Deobfuscations that may follow one another on top of the nested decodings. */
const MAX_DEOBFUSCATIONS = 4;
/** Fewer disguised characters are an emoji or a spelling. */
const MIN_DISGUISED = 4;
/** Further records would repeat the same reason. */
const MAX_UNSEEN = 64;

/**
 * All views of an input: raw and folded first, always and complete; then what it spaces out, encodes or hides, as far
 * as the limits reach. Total on any string; time and memory are linear in its length.
 *
 * One pass (`scanFeatures`) finds the signs of every transform, so that ordinary text costs that pass and the fold.
 * Where there are signs, each transform gives a draft: a text with a map back to the input. Drafts are folded into
 * views, and are searched in turn, layer by layer, until nothing new comes out or a limit stops it.
 */
export function buildViews(input: string, limits: TextLimits = DEFAULT_TEXT_LIMITS): ViewSet {
  const features = scanFeatures(input);
  const text = features.surrogates ? input.toWellFormed() : input;
  const root: Draft = { kind: 'raw', chain: [], text, map: IDENTITY_MAP, depth: 0, freshMarkup: true };
  const folded = foldDraft(root, features);
  const views: View[] = [{ kind: 'raw', chain: [], text, map: IDENTITY_MAP }, folded];
  const budget = startBudget(input.length, limits);
  if (text.length <= limits.piece) {
    addDerived(startLayer(root, folded, features), new Set([folded.text]), views, limits, budget);
  } else {
    for (const piece of splitLong(root, limits)) {
      const found = scanFeatures(piece.text);
      addDerived(startLayer(piece, foldDraft(piece, found), found), new Set(), views, limits, budget);
    }
  }
  return { views, unseen: budget.unseen };
}

interface Draft {
  readonly kind: ViewKind;
  readonly chain: readonly string[];
  /** Well-formed. */
  readonly text: string;
  /** Back to the input. */
  readonly map: OffsetMap;
  /** Decodings and hiding places nested up to here. */
  readonly depth: number;
  /** The ranges that the last step made: start and end in the text, alternating, ascending. Undefined: all of it. */
  readonly fresh?: readonly number[] | undefined;
  /** True when the last step may have made markup. */
  readonly freshMarkup: boolean;
  /** The features of the text it was made from: the same signs of a cipher again give the same reading again. */
  readonly before?: Features | undefined;
}

type Layer = readonly (readonly [Draft, Features])[];

/** A long text in pieces that overlap, none of which splits a surrogate pair. */
function splitLong(draft: Draft, limits: TextLimits): readonly Draft[] {
  const { text } = draft;
  const pieces: Draft[] = [];
  for (let from = 0; from < text.length; from += limits.piece) {
    const start = edgeBefore(text, from);
    const end = edgeBefore(text, from + limits.piece + limits.pieceOverlap);
    const map: OffsetMap = {
      identity: false,
      toInput: (span) => ({ start: span.start + start, end: span.end + start }),
    };
    pieces.push({ ...draft, text: text.slice(start, end), map });
  }
  return pieces;
}

function foldDraft(draft: Draft, features: Features): View {
  const { text, map } = foldText(draft.text, features);
  const root = draft.kind === 'raw';
  return {
    kind: root ? 'folded' : draft.kind,
    chain: [...draft.chain, 'fold'],
    text,
    map: composeMaps(map, draft.map),
  };
}

function foldText(text: string, features: Features): Rewritten {
  // ASCII with single spaces and line feeds alone.
  if (features.plain) return { text: text.toLowerCase(), map: IDENTITY_MAP };
  return features.ascii ? foldAscii(text, features.spaces) : fold(text);
}

/** A draft to search, together with its folded text where decoders would not see through the disguise of the characters. */
function startLayer(draft: Draft, folded: View, features: Features): Layer {
  if (features.disguised < MIN_DISGUISED) return [[draft, features]];
  const undone: Draft = { ...draft, chain: folded.chain, text: folded.text, map: folded.map, freshMarkup: false };
  return [
    [draft, features],
    [undone, scanFeatures(folded.text)],
  ];
}

function addDerived(start: Layer, seen: Set<string>, views: View[], limits: TextLimits, budget: Budget): void {
  for (let layer = start; layer.length > 0; ) {
    const next: (readonly [Draft, Features])[] = [];
    for (const [draft, found] of layer) {
      for (const child of deriveDrafts(draft, found, limits, budget)) {
        const features = scanFeatures(child.text);
        const view = foldDraft(child, features);
        if (view.text.length < MIN_VIEW || seen.has(view.text)) continue;
        seen.add(view.text);
        if (child.depth > limits.maxDepth || child.chain.length > limits.maxDepth + MAX_DEOBFUSCATIONS) {
          noteUnseen(budget, inputSpan(child), child.chain.at(-1) ?? '', 'maxDepth');
          continue;
        }
        views.push(view);
        next.push(...startLayer(child, view, features));
      }
    }
    layer = next;
  }
}

/** The drafts one step behind a draft, as far as the budget reaches. Linear in its text. */
function deriveDrafts(draft: Draft, features: Features, limits: TextLimits, budget: Budget): readonly Draft[] {
  const made: Draft[] = [];
  if (draft.freshMarkup && (features.signs & (LESS | BRACKET)) !== 0) addMarkup(made, draft, features, limits, budget);
  addRuns(made, draft, 'squeezed', DEOBFUSCATIONS, features, limits, budget);
  addRuns(made, draft, 'decoded', DECODINGS, features, limits, budget);
  addCiphers(made, draft, features, budget);
  return made;
}

/** Adds the text that HTML and Markdown hide, one draft for each kind of hiding place; then the text near tags without them. */
function addMarkup(made: Draft[], draft: Draft, features: Features, limits: TextLimits, budget: Budget): void {
  const { text, chain } = draft;
  const tags = (features.signs & LESS) === 0 ? [] : htmlTags(text);
  for (const { transform, made: hidden } of hiddenTexts(text, features.signs, tags)) {
    if (!spend(budget, draft, hidden.text.length, transform)) continue;
    made.push(deriveDraft(draft, 'hidden', [transform], hidden, { freshMarkup: true }));
  }
  // Once its tags are gone, what is left of markup was written as escapes, which the next layer decodes.
  if (tags.length === 0 || chain.at(-1) === 'html-text') return;
  const runs = removeTags(text, tags);
  if (!spend(budget, draft, splicedLength(text, runs, limits.context), 'html-text')) return;
  const shown = spliceText(text, runs, limits.context);
  made.push(deriveDraft(draft, 'decoded', ['html-text'], shown, { freshMarkup: false, before: features }));
}

const MARKUP = /[<>[\]"']/;

/** One draft with every run that these transforms read put in place of it, and some text around each. */
function addRuns(
  made: Draft[],
  draft: Draft,
  kind: ViewKind,
  transforms: readonly RunTransform[],
  features: Features,
  limits: TextLimits,
  budget: Budget,
): void {
  const { text, fresh } = draft;
  const found = findRuns(transforms, text, features);
  if (found.length === 0) return;
  const settled = settleReplacements(found);
  const runs = fresh === undefined ? settled : keepFresh(settled, fresh);
  if (runs.length === 0) return;
  const names = [...new Set(runs.map((run) => run.transform))];
  if (!spend(budget, draft, splicedLength(text, runs, limits.context), names.join('+'))) return;
  const spliced = spliceText(text, runs, limits.context);
  const freshMarkup = runs.some((run) => MARKUP.test(run.text));
  made.push(deriveDraft(draft, kind, names, spliced, { fresh: spliced.fresh, freshMarkup, before: features }));
}

/** The text in another order or with its letters shifted, where its words show that this makes sense. */
function addCiphers(made: Draft[], draft: Draft, features: Features, budget: Budget): void {
  if (features.tags === undefined && features.backwardOrders.length === 0) return;
  for (const { transform, length, make } of readCiphers(draft.text, draft.chain, features, draft.before)) {
    if (!spend(budget, draft, length, transform)) continue;
    made.push(deriveDraft(draft, 'decoded', [transform], make(), { freshMarkup: true, before: features }));
  }
}

const RANK: Readonly<Record<ViewKind, number>> = { raw: 0, folded: 0, squeezed: 1, decoded: 2, hidden: 3 };

/** A draft made from another: what was hidden stays hidden when it is decoded, and what was decoded stays decoded. */
function deriveDraft(
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

interface Budget {
  /** Characters and views left. */
  characters: number;
  views: number;
  readonly unseen: Unseen[];
}

function startBudget(length: number, limits: TextLimits): Budget {
  const characters = Math.min(limits.maxDerived, length * limits.derivedFactor + limits.derivedBase);
  return { characters, views: limits.maxViews * Math.max(1, Math.ceil(length / limits.piece)), unseen: [] };
}

/** Takes a view of this many characters from the budget; false, with a record, when too little is left. */
function spend(budget: Budget, from: Draft, characters: number, transform: string): boolean {
  if (budget.views > 0 && budget.characters >= characters) {
    budget.views -= 1;
    budget.characters -= characters;
    return true;
  }
  noteUnseen(budget, inputSpan(from), transform, budget.views > 0 ? 'maxDerived' : 'maxViews');
  return false;
}

function noteUnseen(budget: Budget, span: Span, transform: string, limit: string): void {
  if (budget.unseen.length < MAX_UNSEEN) budget.unseen.push({ span, transform, limit });
}

/** The part of the input that a draft was made from. */
function inputSpan({ map, text }: Draft): Span {
  return map.toInput({ start: 0, end: text.length });
}
