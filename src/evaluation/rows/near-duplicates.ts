/** Slots of a signature, and how many of them one band holds. */
const SLOTS = 64;
const ROWS = 4;
/** Letters of one shingle. */
const WIDTH = 6;
/** Texts whose signatures agree in this share of their slots are near duplicates: an estimate of Jaccard's similarity. */
const ALIKE = 0.6;
const EMPTY = 0xffffffff;

function plain(text: string): string {
  return text.toLowerCase().replace(/\d/g, '0').replace(/\s+/g, ' ').trim();
}

function mixed(value: number): number {
  let bits = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

/** One permutation hashing: each shingle goes to one slot, which keeps its least; empty slots borrow from the next full one. */
function computeSignature(text: string): Uint32Array {
  const letters = plain(text);
  const signature = new Uint32Array(SLOTS).fill(EMPTY);
  for (let at = 0; at <= Math.max(0, letters.length - WIDTH); at++) {
    let hash = 0x811c9dc5;
    for (let i = at; i < Math.min(letters.length, at + WIDTH); i++)
      hash = Math.imul(hash ^ letters.charCodeAt(i), 0x01000193);
    const value = mixed(hash);
    const slot = value % SLOTS;
    if (value < (signature[slot] as number)) signature[slot] = value;
  }
  const filled = Uint32Array.from(signature);
  for (let slot = 0; slot < SLOTS; slot++) {
    let from = slot;
    while (signature[from] === EMPTY) from = (from + 1) % SLOTS;
    // What is borrowed is told from what is there, by how far it came.
    filled[slot] =
      from === slot
        ? (signature[slot] as number)
        : mixed((signature[from] as number) + ((from - slot + SLOTS) % SLOTS));
  }
  return filled;
}

function agreement(a: Uint32Array, b: Uint32Array): number {
  let same = 0;
  for (let i = 0; i < SLOTS; i++) if (a[i] === b[i]) same += 1;
  return same / SLOTS;
}

/** A text, and what its author says it belongs with: a twin, a host, a conversation. */
export interface KinText {
  readonly text: string;
  readonly together?: string | undefined;
}

/**
 * For each text the number of its family: texts that are near duplicates (six-letter shingles, Jaccard's similarity
 * of about 0.6 and up, digits alike) or that say they belong together. Linear in the letters, and nearly so in the texts.
 * @see Broder, A. (1997), On the resemblance and containment of documents; Li, Owen and Zhang (2012), One permutation hashing
 */
export function nearDuplicates(texts: readonly KinText[]): readonly number[] {
  const parent = texts.map((_, i) => i);
  const root = (of: number): number => {
    let at = of;
    while (parent[at] !== at) {
      parent[at] = parent[parent[at] as number] as number;
      at = parent[at] as number;
    }
    return at;
  };
  const join = (a: number, b: number): void => {
    const [low, high] = [root(a), root(b)].sort((x, y) => x - y) as [number, number];
    parent[high] = low;
  };
  const firstIndex = new Map<string, number>();
  const signatures: Uint32Array[] = [];
  texts.forEach(({ text, together }, i) => {
    const signature = computeSignature(text);
    signatures.push(signature);
    const bands = Array.from(
      { length: SLOTS / ROWS },
      (_, band) => `${band} ${signature.slice(band * ROWS, (band + 1) * ROWS).join(' ')}`,
    );
    for (const band of bands) {
      const first = firstIndex.get(band);
      if (first === undefined) firstIndex.set(band, i);
      else if (root(first) !== root(i) && agreement(signatures[first] as Uint32Array, signature) >= ALIKE)
        join(first, i);
    }
    if (together === undefined) return;
    const first = firstIndex.get(`together ${together}`);
    if (first === undefined) firstIndex.set(`together ${together}`, i);
    else join(first, i);
  });
  return texts.map((_, i) => root(i));
}
