/** The tag of a word that is written backwards; 1..25 is a Caesar shift by as many letters. */
export const REVERSED: number = 26;
/** The tag of a word of the radio alphabet. */
export const RADIO: number = 27;
/** How many tags are counted, 0 (none) among them. */
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
const HONEST = new Set('green envy ones barf rail max won ton era saw was tub'.split(' '));

const SLOTS = 1 << 13;
const MULTIPLIER = 31;

/** A word's hash, one letter at a time; case is not seen. `scanFeatures` has the same written out. */
export function hashLetter(hash: number, unit: number): number {
  return (Math.imul(hash, MULTIPLIER) + (unit | 0x20)) | 0;
}

const table = buildTable();

/** The tag of the word with this hash, 0 for nearly all words. */
export function tagOf(hash: number): number {
  const slot = (hash ^ (hash >>> 15)) & (SLOTS - 1);
  return table.checks[slot] === hash ? (table.tags[slot] as number) : 0;
}

function buildTable(): { readonly tags: Uint8Array; readonly checks: Int32Array } {
  const tags = new Uint8Array(SLOTS);
  const checks = new Int32Array(SLOTS);
  const put = (word: string, tag: number): void => {
    if (HONEST.has(word)) return;
    let hash = 0;
    for (let i = 0; i < word.length; i += 1) hash = hashLetter(hash, word.charCodeAt(i));
    const slot = (hash ^ (hash >>> 15)) & (SLOTS - 1);
    if (tags[slot] !== 0) return;
    tags[slot] = tag;
    checks[slot] = hash;
  };
  for (const [rank, words] of RANKED.entries()) for (const word of words.split(' ')) put(word, FIRST_RANK + rank);
  for (const word of RADIO_WORDS) put(word, RADIO);
  for (const word of [...BACKWARDS, ...WORDS]) put([...word].reverse().join(''), REVERSED);
  for (const word of SHORT_WORDS) put(shiftLetters(word, 13), 13);
  for (let shift = 1; shift < 26; shift += 1) for (const word of WORDS) put(shiftLetters(word, shift), shift);
  return { tags, checks };
}

/** Moves each ASCII letter by `shift` places in the alphabet, case kept. */
export function shiftLetters(text: string, shift: number): string {
  return text.replace(/[a-zA-Z]/g, (letter) => {
    const code = letter.charCodeAt(0);
    const base = code < 0x61 ? 0x41 : 0x61;
    return String.fromCharCode(base + ((code - base + shift) % 26));
  });
}
