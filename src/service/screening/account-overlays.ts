import { LRUCache } from 'lru-cache';
import type { OverlayStack } from '../../adapters/packs/overlay-stack.js';
import type { Overlay } from '../../engine/rules/pack/overlay-schema.js';
import type { PackChange } from '../../engine/rules/types.js';
import { keepOverlay, type VersionShelf } from '../../evidence/kept-versions.js';
import type { EngineInfo } from '../../index.js';
import type { AppliedOverlay } from '../../store/account-store.js';

/** What a call of an account is screened under, on top of the server's own packs, overlays and operating point. */
export interface AccountChange {
  /** The overlay's version in its account; null for one that is only tried. */
  readonly number: number | null;
  readonly change: PackChange;
}

/** Overlays of accounts as calls need them. */
export interface AccountOverlays {
  /** Reads YAML and checks it. @throws PackError with every mistake; ConfigError for an operating point that there isn't */
  parse(source: string): Overlay;
  /**
   * What an account's overlay changes today; undefined where that is nothing. Its rules version is kept for replays by the time
   * this resolves.
   */
  under(applied: AppliedOverlay | null): Promise<AccountChange | undefined>;
  /** The same for an overlay that is only tried: nothing is kept of it. */
  trial(overlay: Overlay): AccountChange | undefined;
}

/** Versions known to be kept. */
const REMEMBERED = 1_000;

/** Overlays of accounts on top of what runs. The packs are read when the first overlay needs them. */
export function accountOverlays(
  stackOf: () => OverlayStack,
  info: EngineInfo,
  shelf: VersionShelf,
  now: () => Date,
): AccountOverlays {
  const kept = new LRUCache<string, Promise<void>>({ max: REMEMBERED });
  let stack: OverlayStack | undefined;
  const loaded = (): OverlayStack => {
    stack ??= stackOf();
    return stack;
  };

  function lay(overlay: Overlay) {
    const { operating_point: point, ...others } = overlay;
    // A newer model may have no such point: its default one counts then.
    const isKnown = point === undefined || info.mode === 'rules' || info.operating_points.includes(point);
    return loaded().stack(isKnown ? overlay : others, now().toISOString().slice(0, 10));
  }

  return {
    parse(source) {
      const overlay = loaded().parse(source);
      const { operating_point: point } = overlay;
      if (point !== undefined && info.operating_points.length > 0 && !info.operating_points.includes(point))
        throw new OperatingPointError(point, info.operating_points);
      return overlay;
    },
    async under(applied) {
      if (applied === null || isEmpty(applied.overlay)) return undefined;
      const { overlay, change } = lay(applied.overlay);
      const { rulesVersion } = change;
      let done = kept.get(rulesVersion);
      if (done === undefined) {
        done = keepOverlay(shelf, { base: info.rules_version, rulesVersion, overlay });
        kept.set(rulesVersion, done);
        done.catch(() => kept.delete(rulesVersion));
      }
      await done;
      return { number: applied.number, change };
    },
    trial: (overlay) => (isEmpty(overlay) ? undefined : { number: null, change: lay(overlay).change }),
  };
}

/** An overlay names an operating point that the model doesn't have. */
class OperatingPointError extends Error {
  constructor(point: string, points: readonly string[]) {
    super(`The model has no operating point "${point}"; it has ${points.join(', ')}.`);
    this.name = 'OperatingPointError';
  }
}

/** Whether an overlay leaves all as it is. */
function isEmpty({ rules, allow, ...rest }: Overlay): boolean {
  return (
    Object.keys(rules).length === 0 && allow.length === 0 && Object.values(rest).every((value) => value === undefined)
  );
}
