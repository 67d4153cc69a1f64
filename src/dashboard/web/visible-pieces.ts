/** A stretch of ordinary text, or a character spelled out. */
export interface Piece {
  readonly text: string;
  /** `U+202E` for a character that can't be seen or that changes the order of others. */
  readonly code?: string;
}

/** Most marks over one letter that are drawn; more would climb over the lines above. */
const mostMarks = 8;
const hidden = /\p{Cf}|\p{Cc}|\p{Co}|\p{Cs}|\p{Default_Ignorable_Code_Point}/u;
const runOfMarks = /\p{M}{9,}/gu;

/** Cuts a text into what may be drawn as it is and what must be spelled out. Tabs and line ends stay. */
export function visiblePieces(text: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let plain = '';
  const calm = text.replace(runOfMarks, (marks) => `${[...marks].slice(0, mostMarks).join('')}\u2026`);
  for (const character of calm) {
    if (character === '\n' || character === '\t' || character === '\r' || !hidden.test(character)) {
      plain += character;
      continue;
    }
    if (plain !== '') pieces.push({ text: plain });
    plain = '';
    const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    pieces.push({ text: '', code: `U+${code}` });
  }
  if (plain !== '') pieces.push({ text: plain });
  return pieces;
}
