/** What the writes of one commit add up to: written once, at its end, instead of once a write. */
export interface Tally {
  /** Writes it, inside the commit. */
  write(): void;
  /** Forgets it: the commit came to nothing. */
  drop(): void;
}
