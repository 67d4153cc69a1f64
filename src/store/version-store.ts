/** Rules and models as they were when they gave verdicts, for a replay. */
export interface VersionStore {
  /** Keeps a file of a version; again it changes nothing. */
  put(kind: 'pack' | 'model', version: string, file: string, bytes: Uint8Array): Promise<void>;
  /** The files of a version; undefined where it isn't kept. */
  get(kind: 'pack' | 'model', version: string): Promise<ReadonlyMap<string, Uint8Array> | undefined>;
  /** Oldest first. */
  list(kind: 'pack' | 'model'): Promise<readonly { readonly version: string; readonly storedAt: number }[]>;
}
