/** The tag of a word that is written backwards; 1..25 is a Caesar shift by as many letters. */
export const REVERSED: number = 26;
/** The tag of a word of the radio alphabet. */
export const RADIO: number = 27;
/** Number of tags that are counted, 0 (none) included. */
export const TAGS: number = 28;
/** From here on a tag says at which place of an order to a model the word stands; higher is later. */
export const FIRST_RANK: number = 32;

const WORDS = (
  'ignore previous instructions instruction system prompt reveal password disregard forget override secret ' +
  'please your this that with from above rules must tell about would there their which'
).split(' ');
const SHORT_WORDS = 'the and you all for not are'.split(' ');
const BACKWARDS =
  'the and you all your for from that this with must know please have what when there would about'.split(' ');
const RADIO_WORDS = (
  'alpha alfa bravo charlie delta echo foxtrot golf hotel india juliet juliett kilo lima mike november oscar papa ' +
  'quebec romeo sierra tango uniform victor whiskey xray yankee zulu'
).split(' ');
const RANKED: readonly string[] = [
  'ignore disregard forget override bypass reveal show print repeat',
  'all any the your my every these those',
  'previous prior earlier above system hidden initial original',
  'instructions instruction prompt prompts rules guidelines directives',
];
/** Shifted or reversed words that are words themselves. */
const BENIGN = new Set('green envy ones barf rail max won ton era saw was tub'.split(' '));

const SLOTS = 1 << 13;
const table = buildTable();

/**
 * The tag of the word of three or more letters at `[from, end)`, 0 for nearly all words. Two letters at either end
 * and the length tell these words from others well enough for a first look. Case is not seen.
 */
export function tagAt(text: string, from: number, end: number): number {
  const first = ((text.charCodeAt(from) & 31) << 5) | (text.charCodeAt(from + 1) & 31);
  const last = ((text.charCodeAt(end - 2) & 31) << 5) | (text.charCodeAt(end - 1) & 31);
  const key = (first << 10) | last | ((end - from) << 20);
  const slot = hashSlot(key);
  return table.keys[slot] === key ? (table.tags[slot] as number) : 0;
}

function hashSlot(key: number): number {
  return (Math.imul(key, 0x9e3779b1) >>> 19) & (SLOTS - 1);
}

function buildTable(): { readonly tags: Uint8Array; readonly keys: Int32Array } {
  const tags = new Uint8Array(SLOTS);
  const keys = new Int32Array(SLOTS);
  const put = (word: string, tag: number): void => {
    if (BENIGN.has(word)) return;
    const code = (at: number): number => word.charCodeAt(at) & 31;
    const { length } = word;
    const key = (code(0) << 15) | (code(1) << 10) | (code(length - 2) << 5) | code(length - 1) | (length << 20);
    const slot = hashSlot(key);
    if (tags[slot] !== 0) return;
    tags[slot] = tag;
    keys[slot] = key;
  };
  for (const [rank, words] of RANKED.entries()) for (const word of words.split(' ')) put(word, FIRST_RANK + rank);
  for (const word of RADIO_WORDS) put(word, RADIO);
  for (const word of [...BACKWARDS, ...WORDS]) put([...word].reverse().join(''), REVERSED);
  for (const word of SHORT_WORDS) put(shiftLetters(word, 13), 13);
  for (let shift = 1; shift < 26; shift += 1) for (const word of WORDS) put(shiftLetters(word, shift), shift);
  return { tags, keys };
}

/** Moves each ASCII letter by `shift` places in the alphabet, case kept. */
export function shiftLetters(text: string, shift: number): string {
  return text.replace(/[a-zA-Z]/g, (letter) => {
    const code = letter.charCodeAt(0);
    const base = code < 0x61 ? 0x41 : 0x61;
    return String.fromCharCode(base + ((code - base + shift) % 26));
  });
}
