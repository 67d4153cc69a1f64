/** One text among the parts of a message. */
export interface TextPart {
  readonly type: string;
  readonly [name: string]: unknown;
}

/**
 * Screens the text parts of a message as the one text that a model reads: an attack may be split over several. A changed
 * text takes the place of all of them. The same list where nothing changed.
 */
export async function screenTexts<P extends TextPart>(
  parts: readonly P[],
  types: readonly string[],
  screen: (text: string) => Promise<string>,
): Promise<readonly P[]> {
  const texts = parts.filter((part) => types.includes(part.type) && typeof part.text === 'string');
  if (texts.length === 0) return parts;
  const text = texts.map((part) => part.text).join('\n');
  const shown = await screen(text);
  if (shown === text) return parts;
  const [first] = texts;
  return parts.flatMap((part) => (part === first ? [{ ...part, text: shown }] : texts.includes(part) ? [] : [part]));
}
