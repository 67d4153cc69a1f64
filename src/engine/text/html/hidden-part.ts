/** A part of the text that a reader of the rendered document doesn't see. */
export interface HiddenPart {
  readonly start: number;
  readonly end: number;
  /** What hides it, e.g. `html-comment`. */
  readonly transform: string;
  /** True when it goes on where the part before it (of the same transform) ended, across a tag. */
  readonly joined?: boolean;
}
