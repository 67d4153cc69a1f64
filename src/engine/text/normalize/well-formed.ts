/** The text with each lone surrogate replaced by U+FFFD; offsets stay the same. The text itself when it has none. */
export function wellFormed(text: string): string {
  let out = '';
  let read = 0;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if ((unit & 0xf800) !== 0xd800) continue;
    if (unit < 0xdc00 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) {
      i += 1;
      continue;
    }
    out += `${text.slice(read, i)}\ufffd`;
    read = i + 1;
  }
  return read === 0 ? text : out + text.slice(read);
}
