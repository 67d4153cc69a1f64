/** What a verdict was decided by, besides the product's own code. */
export type VersionKind = 'pack' | 'model';

/** Where rules and models are kept as they were when they gave verdicts. */
export interface VersionShelf {
  /** Keeps a file of a version; again it changes nothing. */
  put(kind: VersionKind, version: string, file: string, bytes: Uint8Array): Promise<void>;
  /** The names of a version's files; empty where it isn't kept. */
  names(kind: VersionKind, version: string): Promise<readonly string[]>;
  /** The files of a version; undefined where it isn't kept. */
  get(kind: VersionKind, version: string): Promise<ReadonlyMap<string, Uint8Array> | undefined>;
}
