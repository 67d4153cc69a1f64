import { LRUCache } from 'lru-cache';
import type { OverlayStack } from '../../adapters/packs/overlay-stack.js';
import { OverlayError } from '../../dashboard/ports.js';
import type { EngineInfo } from '../../engine/engine-settings.js';
import type { Overlay } from '../../engine/rules/pack/overlay-schema.js';
import type { PackChange } from '../../engine/rules/types.js';
import { type KeptVersions, keepOverlay } from '../../evidence/kept-versions.js';
import type { AppliedOverlay } from '../../store/account-store.js';

/** The settings that a call of an account is screened under, on top of the server's packs, overlays and operating point. */
export interface AccountChange {
  /** The overlay's version in its account; null for one that is only tried. */
  readonly number: number | null;
  readonly change: PackChange;
}

/** Overlays of accounts as calls need them. */
export interface AccountOverlays {
  /** Reads YAML and checks it. @throws PackError with every mistake; OverlayError */
  parse(source: string): Overlay;
  /**
   * Returns the changes of an account's overlay as of today; undefined where there are none. Its rules version is kept for replays by the time
   * this resolves.
   */
  changeOf(applied: AppliedOverlay | null): Promise<AccountChange | undefined>;
  /** The same for an overlay that is only tried: nothing is kept of it. */
  trial(overlay: Overlay): AccountChange | undefined;
}

/** Versions known to be kept. */
const REMEMBERED = 1_000;

/** Overlays of accounts on top of what runs. The packs are read when the first overlay needs them. */
export function accountOverlays(
  stackOf: () => OverlayStack,
  info: EngineInfo,
  versions: KeptVersions,
  now: () => Date,
): AccountOverlays {
  const kept = new LRUCache<string, Promise<void>>({ max: REMEMBERED });
  let stack: OverlayStack | undefined;
  const loaded = (): OverlayStack => {
    stack ??= stackOf();
    return stack;
  };

  function stackToday(overlay: Overlay) {
    const { operating_point: point, ...others } = overlay;
    // A newer model may have no such point: its default one counts then.
    const isKnown = info.mode === 'rules' || pointsIn(point).every((one) => info.operating_points.includes(one));
    return loaded().stack(isKnown ? overlay : others, now().toISOString().slice(0, 10));
  }

  return {
    parse(source) {
      const overlay = loaded().parse(source, assertWithinLimits);
      const missing = pointsIn(overlay.operating_point).find((point) => !info.operating_points.includes(point));
      if (missing !== undefined && info.operating_points.length > 0)
        throw new OverlayError(
          'OPERATING_POINT_UNKNOWN',
          `The model has no operating point "${missing}"; it has ${info.operating_points.join(', ')}.`,
        );
      return overlay;
    },
    async changeOf(applied) {
      if (applied === null || isEmpty(applied.overlay)) return undefined;
      const { overlay, change } = stackToday(applied.overlay);
      const { rulesVersion } = change;
      let done = kept.get(rulesVersion);
      if (done === undefined) {
        done = keepOverlay(versions, { base: info.rules_version, rulesVersion, overlay });
        kept.set(rulesVersion, done);
        done.catch(() => kept.delete(rulesVersion));
      }
      await done;
      return { number: applied.number, change };
    },
    trial: (overlay) => (isEmpty(overlay) ? undefined : { number: null, change: stackToday(overlay).change }),
  };
}

function pointsIn(named: Overlay['operating_point'] = {}): readonly string[] {
  return typeof named === 'string' ? [named] : Object.values(named);
}

const MOST_ALLOWED = 200;
/** Patterns cost memory and time on every call; texts cost little. */
const MOST_PATTERNS = 20;
/** UTF-16 code units of an allow-list's pattern. */
const LONGEST_PATTERN = 300;
/** A counted repetition may be written out, a copy each time. Of all patterns together. */
const MOST_REPETITIONS = 500;

/** Before a pattern is compiled, which this thread does. @throws OverlayError */
function assertWithinLimits({ allow }: Overlay): void {
  const patterns = allow.flatMap(({ pattern }) => pattern ?? []);
  if (allow.length > MOST_ALLOWED || patterns.length > MOST_PATTERNS)
    throw new OverlayError(
      'OVERLAY_TOO_COSTLY',
      `An overlay allows at most ${MOST_ALLOWED} texts, ${MOST_PATTERNS} of them by a pattern.`,
    );
  if (patterns.some((pattern) => pattern.length > LONGEST_PATTERN))
    throw new OverlayError('OVERLAY_TOO_COSTLY', `A pattern has at most ${LONGEST_PATTERN} characters.`);
  const repetitions = patterns.reduce((sum, pattern) => sum + countRepetitions(pattern), 0);
  if (repetitions > MOST_REPETITIONS)
    throw new OverlayError(
      'OVERLAY_TOO_COSTLY',
      `The patterns repeat too much ({n,m}): at most ${MOST_REPETITIONS} times together. Write + or * where the number does not matter.`,
    );
}

/** A character class, an escape, the beginning or end of a group, a counted repetition, or any other character. */
const TOKEN = /\[\^?\]?(?:\\.|[^\]\\])*\]|\\[pPx]\{[^}]*\}|\\.|\{(\d+)(?:,(\d*))?\}|./gsu;

/** Counts the copies that the counted repetitions of a pattern make together: those one inside another multiply. */
function countRepetitions(pattern: string): number {
  /** Copies so far, in each group that is open. */
  const groups = [0];
  /** The part of a pattern that a repetition repeats: a group with its copies, or a single character. */
  let last = { copies: 1, counted: 0 };
  for (const [token, least, most] of pattern.matchAll(TOKEN)) {
    const add = (copies: number): void => {
      groups.push((groups.pop() ?? 0) + copies);
    };
    if (token === '(') {
      groups.push(0);
    } else if (token === ')') {
      const copies = groups.length > 1 ? (groups.pop() ?? 0) : 0;
      add(copies);
      last = { copies: Math.max(1, copies), counted: copies };
    } else if (least !== undefined) {
      const copies = last.copies * Number(most || least);
      add(copies - last.counted);
      last = { copies, counted: copies };
    } else if (!'?*+'.includes(token)) {
      last = { copies: 1, counted: 0 };
    }
  }
  return groups.reduce((sum, copies) => sum + copies, 0);
}

function isEmpty({ rules, allow, ...rest }: Overlay): boolean {
  return (
    Object.keys(rules).length === 0 && allow.length === 0 && Object.values(rest).every((value) => value === undefined)
  );
}
