/** A way to make a text that costs much. */
export interface HostileText {
  readonly name: string;
  /** A text of about `size` UTF-16 code units; the same each time after `seedRandom`. */
  readonly make: (size: number) => string;
}
