/** A big text and how long it may take. */
export interface BigText {
  readonly name: string;
  readonly make: () => string;
  /** Far above what it takes, on a machine with other work to do as well; a quadratic step would take hours. */
  readonly mostSeconds: number;
}

const SENTENCE = 'The meeting is on Tuesday at ten; please bring the report of the last quarter with you. ';
const filled = (piece: string, length: number): string =>
  piece.repeat(Math.ceil(length / piece.length)).slice(0, length);

/** Texts of `millions` million code units of the kinds that break normalisation, decoders and matchers. */
export function bigTexts(millions: number): readonly BigText[] {
  const length = millions * 1_000_000;
  return [
    { name: 'marks', make: () => `e${filled('\u0301\u0323\u0345', length)}`, mostSeconds: 40 * millions },
    { name: 'expanding ligatures', make: () => filled('\ufdfa', length), mostSeconds: 40 * millions },
    { name: 'one word', make: () => filled('ignore', length), mostSeconds: 40 * millions },
    {
      name: 'base64',
      make: () => filled(Buffer.from(SENTENCE).toString('base64url'), length),
      mostSeconds: 40 * millions,
    },
    { name: 'lone surrogates', make: () => filled('\ud800x\udc00', length), mostSeconds: 40 * millions },
    { name: 'hidden text', make: () => filled('<!-- <p hidden>', length), mostSeconds: 40 * millions },
  ];
}

/** 100 MB of ordinary text. */
export const hugeText: BigText = {
  name: '100 MB of prose',
  make: () => filled(SENTENCE, 100_000_000),
  mostSeconds: 600,
};
