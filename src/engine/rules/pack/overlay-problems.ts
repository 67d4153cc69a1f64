import type { PackProblem } from './pack-error.js';
import type { NamedOverlay, PackContent } from './stack-packs.js';

type Path = readonly (string | number)[];

/** What an overlay says that can't be done with these packs. */
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
        const message = 'An allow-list entry has either a `text` or a `pattern`.';
        return [problem(name, 'PACK052', message, 'Keep one of them.', ['allow', at])];
      }),
    ];
  });
}

/** The entries of an overlay's allow-list that no longer count. */
export function expired({ name, overlay }: NamedOverlay, today: string): readonly PackProblem[] {
  return overlay.allow.flatMap((entry, at) => {
    if (entry.expires >= today) return [];
    const message = `This entry expired on ${entry.expires} and no longer counts.`;
    const advice = 'Take it out, or look at it again and give it a later date.';
    return [problem(name, 'PACK051', message, advice, ['allow', at, 'expires'])];
  });
}

function problem(name: string, code: string, message: string, advice: string, path: Path): PackProblem {
  return { code, message, advice, place: { in: 'overlay', name, path } };
}
