import type { VersionKind, VersionShelf } from '../evidence/version-shelf.js';

/** Rules and models as they were when they gave verdicts, for a replay. */
export interface VersionStore extends VersionShelf {
  /** Oldest first. */
  list(kind: VersionKind): Promise<readonly { readonly version: string; readonly storedAt: number }[]>;
}
