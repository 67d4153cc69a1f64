import { canonicalJson } from '../../canonical-json.js';
import { type ModelThresholds, overlayThresholds } from '../../channel.js';
import type { PreparedPatterns } from '../pattern/compiled-pattern.js';
import type { OverlayChange, Pack, PackChange, PackLayer, Rule, WordLists } from '../types.js';
import type { Overlay } from './overlay-schema.js';
import { PackError, type PackProblem } from './pack-error.js';
import type { PackHead } from './rule-schema.js';

/** A pack's whole content: what its version is the digest of. */
export interface PackContent {
  readonly head: PackHead;
  readonly words: WordLists;
  readonly rules: readonly Rule[];
  /** True when every pattern is known to compile. */
  readonly isChecked?: boolean | undefined;
  /** Its patterns, made ready with its own word lists alone. */
  readonly prepared?: PreparedPatterns | undefined;
  /** `digestPacks` of this pack alone, where it is known. */
  readonly digest?: string | undefined;
}

/** An overlay with the name that problems call it by (its file's path). */
export interface NamedOverlay {
  readonly name: string;
  readonly overlay: Overlay;
}

export interface StackOptions {
  /** From the bottom up: a later one wins, allow-lists add up. */
  readonly overlays: readonly NamedOverlay[];
  /** `YYYY-MM-DD` in UTC: allow-list entries that expired before it are inactive. */
  readonly today: string;
  /** SHA-256 of a text's UTF-8 bytes as 64 small hex digits. */
  readonly sha256: (text: string) => string;
}

export interface StackedPack {
  readonly pack: Pack;
  /** Notices for the operator, such as expired allow-list entries. */
  readonly notices: readonly PackProblem[];
}

/**
 * Stacks packs, the first at the bottom, and overlays on top. The first pack gives semver, threshold
 * and paranoia level. A pack sees the word lists of those below it; its own hide theirs.
 *
 * @throws PackError when two packs have a rule of the same id, or an overlay names a rule that none has
 */
export function stackPacks(contents: readonly PackContent[], options: StackOptions): StackedPack {
  const [base] = contents;
  if (!base) throw new PackError([packProblem('PACK040', 'There is no pack to load.', 'Name at least one.')]);
  const { today, sha256 } = options;
  const problems = [...sameIds(contents), ...overlayProblems(contents, options.overlays)];
  if (problems.length > 0) throw new PackError(problems);
  const overlays = options.overlays.map(({ overlay }) => overlay);
  const active = overlays.map((overlay) => ({
    ...overlay,
    allow: overlay.allow.filter((entry) => entry.expires >= today),
  }));
  const alone = contents.length === 1 && active.length === 0 ? base.digest : undefined;
  const digest = alone ?? digestPacks(contents, active, sha256);
  const layers: PackLayer[] = [];
  for (const content of contents) {
    const { head, rules, prepared } = content;
    const below = layers.at(-1);
    layers.push({
      name: head.name,
      version: head.version,
      // Not read here: those of the core pack lie in a file of their own.
      get words() {
        return below ? { ...below.words, ...content.words } : content.words;
      },
      // Lists from below may change what a pattern means.
      prepared: below ? undefined : prepared,
      rules: rules.flatMap((rule) => change(rule, active)).sort(byId),
    });
  }
  return {
    pack: {
      name: contents.map(({ head }) => head.name).join('+'),
      rulesVersion: `${base.head.version}+${digest.slice(0, 12)}`,
      threshold: active.findLast(({ threshold }) => threshold !== undefined)?.threshold ?? base.head.threshold,
      modelThreshold: modelThreshold(active),
      paranoia: active.findLast(({ paranoia }) => paranoia !== undefined)?.paranoia ?? base.head.paranoia,
      layers,
      isChecked:
        contents.every((content) => content.isChecked === true) && active.every(({ allow }) => allow.length === 0),
      allow: active.flatMap(({ allow }) => allow.map(({ text, pattern, rule }) => ({ text, pattern, rule }))),
    },
    notices: options.overlays.flatMap((named) => expired(named, today)),
  };
}

/** SHA-256 over the content of packs and overlays, whatever order their fields were written in. */
export function digestPacks(
  contents: readonly PackContent[],
  overlays: readonly Overlay[],
  sha256: (text: string) => string,
): string {
  const packs = contents.map(({ head, words, rules }) => ({ head, words, rules: rules.toSorted(byId) }));
  return sha256(canonicalJson([...packs, ...overlays]));
}

function byId(a: Rule, b: Rule): number {
  return a.id < b.id ? -1 : 1;
}

/** The model's thresholds that overlays set; a later one lies above. */
function modelThreshold(overlays: readonly Overlay[]): ModelThresholds | undefined {
  return overlays.reduce<ModelThresholds | undefined>(
    (lower, { model_threshold, operating_point }) => overlayThresholds(model_threshold ?? operating_point, lower),
    undefined,
  );
}

/** Returns the change that one more overlay makes to a stack, as of `today`; `rulesVersion` is that of the whole stack. */
export function overlayChange(overlay: Overlay, today: string, rulesVersion: string): PackChange {
  const { threshold, paranoia, rules } = overlay;
  const allow = overlay.allow.filter((entry) => entry.expires >= today);
  return { rulesVersion, threshold, paranoia, modelThreshold: modelThreshold([overlay]), rules, allow };
}

function change(given: Rule, overlays: readonly Overlay[]): readonly Rule[] {
  let rule = given;
  for (const { rules } of overlays) {
    const wanted = Object.hasOwn(rules, rule.id) ? rules[rule.id] : undefined;
    if (wanted === 'off') return [];
    if (!wanted || rule.status === 'deprecated') continue;
    rule = changeRule(rule, wanted);
  }
  return [rule];
}

export function changeRule(rule: Rule, { score, paranoia, status }: OverlayChange = {}): Rule {
  const changed = {
    score: score ?? rule.score,
    paranoia: paranoia ?? rule.paranoia,
    status: status ?? rule.status,
  };
  // Not by `...rule`, which would read the examples: those of the core pack lie in a file of their own.
  return Object.defineProperties({} as Rule, {
    ...Object.getOwnPropertyDescriptors(rule),
    ...Object.getOwnPropertyDescriptors(changed),
  });
}

function sameIds(contents: readonly PackContent[]): readonly PackProblem[] {
  const owners = new Map<string, string>();
  return contents.flatMap(({ head, rules }) =>
    rules.flatMap(({ id }) => {
      const owner = owners.get(id);
      owners.set(id, head.name);
      if (owner === undefined) return [];
      const message = `The packs \`${owner}\` and \`${head.name}\` both have a rule \`${id}\`.`;
      return [packProblem('PACK041', message, 'Rename one of them, or load only one of the packs.')];
    }),
  );
}

function packProblem(code: string, message: string, advice: string): PackProblem {
  return { code, message, advice, place: { in: 'pack', name: '', path: [] } };
}

type Path = readonly (string | number)[];

/** Returns the entries of an overlay that do not apply to these packs. */
export function overlayProblems(
  contents: readonly PackContent[],
  overlays: readonly NamedOverlay[],
): readonly PackProblem[] {
  const ids = new Set(contents.flatMap(({ rules }) => rules.map(({ id }) => id)));
  return overlays.flatMap(({ name, overlay }) => {
    const unknown = (id: string, path: Path): PackProblem =>
      problem(name, 'PACK050', `No pack has a rule \`${id}\`.`, 'See `portcullis rules list` for the ids.', path);
    return [
      ...Object.keys(overlay.rules).flatMap((id) => (ids.has(id) ? [] : [unknown(id, ['rules', id])])),
      ...overlay.allow.flatMap((entry, at) => {
        if (entry.rule !== undefined && !ids.has(entry.rule)) return [unknown(entry.rule, ['allow', at, 'rule'])];
        if ((entry.text === undefined) !== (entry.pattern === undefined)) return [];
        const message = 'An allow-list entry must have either a `text` or a `pattern`.';
        return [problem(name, 'PACK052', message, 'Keep one of them.', ['allow', at])];
      }),
    ];
  });
}

/** The entries of an overlay's allow-list that no longer count. */
function expired({ name, overlay }: NamedOverlay, today: string): readonly PackProblem[] {
  return overlay.allow.flatMap((entry, at) => {
    if (entry.expires >= today) return [];
    const message = `This entry expired on ${entry.expires} and is no longer applied.`;
    const advice = 'Remove it, or review it and set a later date.';
    return [problem(name, 'PACK051', message, advice, ['allow', at, 'expires'])];
  });
}

function problem(name: string, code: string, message: string, advice: string, path: Path): PackProblem {
  return { code, message, advice, place: { in: 'overlay', name, path } };
}
