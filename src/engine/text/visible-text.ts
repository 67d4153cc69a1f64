// Screened text may hold characters that can't be seen, that drive a terminal, turn the direction of a page, or that HTML forbids.
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\p{Cs}\p{VS}]/gu;

/** A screened text as it may be shown: what can't be seen is spelled out as `\u{202e}`; line feeds and tabs stay. */
export function visibleText(text: string): string {
  return text.replace(INVISIBLE, (character) =>
    character === '\n' || character === '\t' ? character : spelledOut(character),
  );
}

/** A character spelled out, such as `\u{202e}`. */
export function spelledOut(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}}`;
}
