/** Words that orders to a model are made of; enough of them show that a reading of garbled text makes sense. */
const STRONG_WORDS: readonly string[] = (
  'ignore disregard forget override bypass overrule previous preceding instruction instructions prompt prompts system ' +
  'guidelines restrictions reveal password passwords secret secrets credentials jailbreak jailbroken unrestricted ' +
  'uncensored exfiltrate pretend confidential'
).split(' ');

/** Words that stand between those. */
const PLAIN_WORDS: readonly string[] = (
  'all any the your prior earlier above developer guideline directive directives restriction safety filter filters ' +
  'credential token tokens execute command commands assistant admin administrator policy policies hidden unlimited ' +
  'disable disabled obey comply delete transfer forward instead immediately ' +
  ' you are now must this that these those every each rule rules act mode from with and for not never ' +
  'don do does have has been given told before after new following follow only always tell show print repeat output ' +
  'say write send email mail message file files key keys api data user users to me my of in on is it be as no or us we ' +
  'please anything everything nothing chat model bot ai gpt dan text words what who how will can cannot should would ' +
  'initial original first last context conversation memory role play roleplay free without limits ethics moral ' +
  'harmful illegal answer respond response reply start begin end stop enter into activate enable enabled information about ' +
  'access account bank money url link click visit http https www com full exact verbatim word line list code run shell'
).split(' ');

/** Marks the end of a word in `WORD_ENDS`. */
const PLAIN = 1;
export const STRONG = 2;

const LETTERS = 26;

const trie = buildTrie();

/** Children of node n for letter a..z at `n * 26 + letter`; 0 none. The root is node 0. */
export const TRIE: Uint16Array = trie.children;

/** For each node whether a word ends there, and which kind. */
export const WORD_ENDS: Uint8Array = trie.ends;

/** The kind of a lower-case word: 0 unknown. */
export function wordKind(word: string): number {
  let node = 0;
  for (let i = 0; i < word.length; i += 1) {
    const letter = word.charCodeAt(i) - 0x61;
    if (letter < 0 || letter >= LETTERS) return 0;
    node = TRIE[node * LETTERS + letter] as number;
    if (node === 0) return 0;
  }
  return WORD_ENDS[node] as number;
}

function buildTrie(): { readonly children: Uint16Array; readonly ends: Uint8Array } {
  const words = [
    ...PLAIN_WORDS.map((word) => [word, PLAIN] as const),
    ...STRONG_WORDS.map((word) => [word, STRONG] as const),
  ];
  const size = words.reduce((sum, [word]) => sum + word.length, 1);
  const children = new Uint16Array(size * LETTERS);
  const ends = new Uint8Array(size);
  let nodes = 1;
  for (const [word, kind] of words) {
    let node = 0;
    for (let i = 0; i < word.length; i += 1) {
      const slot = node * LETTERS + word.charCodeAt(i) - 0x61;
      if (children[slot] === 0) {
        children[slot] = nodes;
        nodes += 1;
      }
      node = children[slot] as number;
    }
    ends[node] = kind;
  }
  return { children: children.slice(0, nodes * LETTERS), ends: ends.slice(0, nodes) };
}
