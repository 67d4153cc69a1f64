const DETECTS = /^Detects\s+/;
const FIRST_SENTENCE = /^.*?[.](?=\s|$)/s;

/** One plain sentence from a rule's own words, so that it never quotes the input. */
export function reasonOf(rule: { readonly title: string; readonly description: string }): string {
  const sentence = (FIRST_SENTENCE.exec(rule.description.trim())?.[0] ?? rule.description.trim()).replace(/\s+/g, ' ');
  const text = DETECTS.test(sentence)
    ? sentence.replace(DETECTS, 'The text holds ')
    : `A rule fired: ${rule.title.trim()}`;
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
