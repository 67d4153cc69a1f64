/** Encodings that a finding's chain may name, in the reader's words. */
const encodings: Readonly<Record<string, string>> = {
  binary: 'binary digits',
  braille: 'Braille',
  'char-codes': 'character codes',
  decimal: 'decimal character codes',
  entities: 'HTML entities',
  escapes: 'escape sequences',
  hex: 'hexadecimal',
  morse: 'Morse code',
  octal: 'octal character codes',
  percent: 'percent-encoding',
  'radio-alphabet': 'the radio alphabet',
  'reversed-words': 'reversed words',
  reversed: 'reversed text',
  rot13: 'ROT13',
  'unicode-tags': 'Unicode tag characters',
  'upside-down': 'upside-down letters',
  'variation-selectors': 'variation selectors',
  'zero-width-bits': 'zero-width characters',
};

/** The other transforms of a chain. */
const transforms: Readonly<Record<string, string>> = {
  emoji: 'emoji between words removed',
  fold: 'confusables folded',
  hyphenation: 'hyphens at line ends removed',
  'html-attribute': 'out of an HTML attribute',
  'html-comment': 'out of an HTML comment',
  'html-invisible': 'out of an invisible HTML element',
  'html-unshown': 'out of an HTML element that is not shown',
  'joined-words': 'joined words separated',
  leet: 'leetspeak replaced',
  spaced: 'spaced letters joined',
  'word-gaps': 'gaps inside words closed',
};

/** A finding's chain: `from base64, then confusables folded`. */
export function chainWords(chain: readonly string[]): string {
  const words = chain.map((step) => {
    if (transforms[step] !== undefined) return transforms[step];
    if (step.startsWith('markdown-')) return `out of a Markdown ${step.slice(9).replaceAll('-', ' ')}`;
    if (step.startsWith('caesar-')) return `from a Caesar cipher (shift ${step.slice(7)})`;
    return `from ${encodings[step] ?? step.replaceAll('-', ' ')}`;
  });
  // The folding of each step is of interest once.
  return words.filter((it, index) => words.lastIndexOf(it) === index).join(', then ');
}
