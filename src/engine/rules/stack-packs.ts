import type { Overlay } from './overlay-schema.js';
import { PackError, type PackProblem } from './pack-error.js';
import type { PackHead } from './pack-schema.js';
import type { Pack, PackLayer, Rule, WordLists } from './types.js';

/** A pack's whole content: what its version is the digest of. */
export interface PackContent {
  readonly head: PackHead;
  readonly words: WordLists;
  readonly rules: readonly Rule[];
}

export interface StackOptions {
  readonly overlay?: Overlay | undefined;
  /** `YYYY-MM-DD` in UTC: allow-list entries that expired before it are inactive. */
  readonly today: string;
  /** SHA-256 of a text's UTF-8 bytes as 64 small hex digits. */
  readonly sha256: (text: string) => string;
}

export interface StackedPack {
  readonly pack: Pack;
  /** What someone should know, such as expired allow-list entries. */
  readonly notices: readonly PackProblem[];
}

/**
 * Lays packs over each other, the first at the bottom, and an overlay on top. The first pack gives semver, threshold
 * and paranoia level. A pack sees the word lists of those below it; its own hide theirs.
 *
 * @throws PackError when two packs have a rule of the same id, or the overlay names a rule that none has
 */
export function stackPacks(contents: readonly PackContent[], options: StackOptions): StackedPack {
  const [base] = contents;
  if (!base) throw new PackError([problem('PACK040', 'There is no pack to load.', 'Name at least one.', [])]);
  const { overlay, today, sha256 } = options;
  const problems = [...sameIds(contents), ...(overlay ? strangers(contents, overlay) : [])];
  if (problems.length > 0) throw new PackError(problems);
  const active = (overlay?.allow ?? []).filter((entry) => entry.expires >= today);
  const layers: PackLayer[] = [];
  for (const { head, words, rules } of contents) {
    const below = layers.at(-1)?.words ?? {};
    layers.push({
      name: head.name,
      words: { ...below, ...words },
      rules: rules.flatMap((rule) => change(rule, overlay)).sort((a, b) => (a.id < b.id ? -1 : 1)),
    });
  }
  const content = overlay ? [...contents, { ...overlay, allow: active }] : contents;
  return {
    pack: {
      name: contents.map(({ head }) => head.name).join('+'),
      rulesVersion: `${base.head.version}+${sha256(canonicalText(content)).slice(0, 12)}`,
      threshold: overlay?.threshold ?? base.head.threshold,
      paranoia: overlay?.paranoia ?? base.head.paranoia,
      layers,
      allow: active.map(({ text, pattern, rule }) => ({ text, pattern, rule })),
    },
    notices: expired(overlay, today),
  };
}

function change(rule: Rule, overlay: Overlay | undefined): readonly Rule[] {
  const wanted = overlay && Object.hasOwn(overlay.rules, rule.id) ? overlay.rules[rule.id] : undefined;
  if (wanted === undefined) return [rule];
  if (wanted === 'off') return [];
  return [{ ...rule, score: wanted.score ?? rule.score, paranoia: wanted.paranoia ?? rule.paranoia }];
}

function sameIds(contents: readonly PackContent[]): readonly PackProblem[] {
  const owners = new Map<string, string>();
  return contents.flatMap(({ head, rules }) =>
    rules.flatMap(({ id }) => {
      const owner = owners.get(id);
      owners.set(id, head.name);
      if (owner === undefined) return [];
      const message = `The packs \`${owner}\` and \`${head.name}\` both have a rule \`${id}\`.`;
      return [problem('PACK041', message, 'Give one another id, or load only one of the packs.', [])];
    }),
  );
}

function strangers(contents: readonly PackContent[], overlay: Overlay): readonly PackProblem[] {
  const ids = new Set(contents.flatMap(({ rules }) => rules.map(({ id }) => id)));
  const unknown = (id: string, path: readonly (string | number)[]): PackProblem =>
    problem('PACK050', `No pack has a rule \`${id}\`.`, 'See `portcullis rules list` for the ids.', path);
  return [
    ...Object.keys(overlay.rules).flatMap((id) => (ids.has(id) ? [] : [unknown(id, ['rules', id])])),
    ...overlay.allow.flatMap((entry, at) => {
      if (entry.rule !== undefined && !ids.has(entry.rule)) return [unknown(entry.rule, ['allow', at, 'rule'])];
      if ((entry.text === undefined) !== (entry.pattern === undefined)) return [];
      const message = 'An allow-list entry has either a `text` or a `pattern`.';
      return [problem('PACK052', message, 'Keep one of them.', ['allow', at])];
    }),
  ];
}

function expired(overlay: Overlay | undefined, today: string): readonly PackProblem[] {
  return (overlay?.allow ?? []).flatMap((entry, at) =>
    entry.expires >= today
      ? []
      : [
          problem(
            'PACK051',
            `This entry expired on ${entry.expires} and no longer counts.`,
            'Take it out, or look at it again and give it a later date.',
            ['allow', at, 'expires'],
          ),
        ],
  );
}

function problem(code: string, message: string, advice: string, path: readonly (string | number)[]): PackProblem {
  return { code, message, advice, place: { in: path.length > 0 ? 'overlay' : 'pack', name: '', path } };
}

/** The same text for the same content, whatever order its fields were written in. Rules are ordered by id. */
function canonicalText(value: unknown): string {
  return JSON.stringify(value, (key, inner: unknown) => {
    if (key === 'rules' && Array.isArray(inner)) {
      return [...(inner as readonly Rule[])].sort((a, b) => (a.id < b.id ? -1 : 1));
    }
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
