import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { allowListProblems } from '../../engine/rules/compile-pack.js';
import type { Overlay } from '../../engine/rules/pack/overlay-schema.js';
import { PackError } from '../../engine/rules/pack/pack-error.js';
import { overlayChange, overlayProblems, type PackContent, stackPacks } from '../../engine/rules/pack/stack-packs.js';
import type { PackChange } from '../../engine/rules/types.js';
import type { LoadedPack } from './load-pack.js';
import { parseOverlay } from './pack-overlay.js';

/** An overlay in force on top of loaded packs. */
export interface StackedOverlay {
  /** Without entries that have expired, and without rules that no pack has any more. */
  readonly overlay: Overlay;
  readonly change: PackChange;
}

/** One more overlay on top of packs and overlays that were loaded. */
export interface OverlayStack {
  /**
   * Reads YAML and checks it against the packs. `allowed` sees it before any of its patterns is compiled, and may throw.
   *
   * @throws PackError with every mistake
   */
  parse(text: string, allowed?: (overlay: Overlay) => void): Overlay;
  /**
   * The overlay as it counts on a day (`YYYY-MM-DD`, UTC), with the version that `loadPack` would give for it: the same whether
   * an overlay is a file of the server's or was applied by an account.
   */
  stack(overlay: Overlay, today: string): StackedOverlay;
}

/** Stacks remembered: making one takes the digest of all packs. */
const REMEMBERED = 1_000;

/** Lays single overlays on top of packs. Costs one digest of the packs for each new overlay and day. */
export function overlayStack(loaded: Pick<LoadedPack, 'contents' | 'overlays' | 'pack'>, today: string): OverlayStack {
  const { contents, pack } = loaded;
  const below = loaded.overlays.map((overlay, at) => ({ name: `overlay ${at + 1}`, overlay }));
  const ids = new Set(contents.flatMap(({ rules }) => rules.map(({ id }) => id)));
  const stacked = new LRUCache<string, StackedOverlay>({ max: REMEMBERED });

  function stackTop(overlay: Overlay, day: string): StackedOverlay {
    const rules = Object.fromEntries(Object.entries(overlay.rules).filter(([id]) => ids.has(id)));
    const allow = overlay.allow.filter(({ rule, expires }) => expires >= day && (rule === undefined || ids.has(rule)));
    const active: Overlay = { ...overlay, rules, allow };
    const top = { name: 'overlay', overlay: active };
    const { rulesVersion } = stackPacks(contents as readonly PackContent[], {
      overlays: [...below, top],
      today,
      sha256: (text) => hash('sha256', text),
    }).pack;
    return { overlay: active, change: overlayChange(active, day, rulesVersion) };
  }

  return {
    parse(text, allowed) {
      const { overlay } = parseOverlay('overlay', text);
      allowed?.(overlay);
      const problems = overlayProblems(contents, [{ name: 'overlay', overlay }]);
      if (problems.length > 0) throw new PackError(problems);
      const unfit = allowListProblems(pack, overlay.allow);
      if (unfit.length > 0) throw new PackError(unfit);
      return overlay;
    },
    stack(overlay, day) {
      const key = `${day} ${JSON.stringify(overlay)}`;
      const known = stacked.get(key) ?? stackTop(overlay, day);
      stacked.set(key, known);
      return known;
    },
  };
}
