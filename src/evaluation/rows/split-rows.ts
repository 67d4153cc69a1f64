import { hash } from 'node:crypto';
import { seededRandom } from '../metrics/bootstrap.js';
import type { LabelledText } from './labelled-text.js';

/** A text with the number of its family: near duplicates and texts that belong together have the same. */
export interface FamilyText extends LabelledText {
  readonly family: number;
}

/** One part to choose on and one to confirm on. No family has texts in both. */
export interface SplitRows {
  readonly choose: readonly FamilyText[];
  readonly confirm: readonly FamilyText[];
  /** Texts of the second part left out, since near duplicates of theirs are in the first. */
  readonly straddling: number;
}

function withFamilies(rows: readonly LabelledText[]): readonly FamilyText[] {
  const families = nearDuplicates(rows);
  return rows.map((row, i) => ({ ...row, family: families[i] as number }));
}

/** Splits by family; `share` (0..1) of the families go to the second part. The same parts for the same seed. */
export function splitRows(rows: readonly LabelledText[], share: number, seed: number): SplitRows {
  const texts = withFamilies(rows);
  const random = seededRandom(seed);
  const sides = new Map<number, boolean>();
  for (const { family } of texts) if (!sides.has(family)) sides.set(family, random() < share);
  return {
    choose: texts.filter(({ family }) => !sides.get(family)),
    confirm: texts.filter(({ family }) => sides.get(family)),
    straddling: 0,
  };
}

/** Takes two given parts, without the texts of the second that have near duplicates in the first. */
export function givenSplit(choose: readonly LabelledText[], confirm: readonly LabelledText[]): SplitRows {
  const texts = withFamilies([...choose, ...confirm]);
  const first = texts.slice(0, choose.length);
  const known = new Set(first.map(({ family }) => family));
  const second = texts.slice(choose.length);
  const kept = second.filter(({ family }) => !known.has(family));
  return { choose: first, confirm: kept, straddling: second.length - kept.length };
}

/** Limits on the texts taken; absent: all. */
export interface RowLimits {
  readonly limit?: number | undefined;
  /** The most texts to take of each source and label. */
  readonly maxPerSource?: number | undefined;
}

/** Texts chosen by the digest of their content: the same ones in each run, in the order they were given. */
export function chooseRows(
  texts: readonly LabelledText[],
  { limit, maxPerSource }: RowLimits,
): readonly LabelledText[] {
  if (limit === undefined && maxPerSource === undefined) return texts;
  const taken = new Map<string, number>();
  const chosen = texts
    .map((row, place) => ({ row, place, key: hash('sha256', row.text) }))
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.place - b.place))
    .filter(({ row }) => {
      const group = `${row.source}\n${row.label}`;
      const count = (taken.get(group) ?? 0) + 1;
      taken.set(group, count);
      return maxPerSource === undefined || count <= maxPerSource;
    })
    .slice(0, limit);
  return chosen.sort((a, b) => a.place - b.place).map(({ row }) => row);
}

/** Slots of a signature, and how many of them one band holds. */
const SLOTS = 64;
const ROWS = 4;
/** Letters of one shingle. */
const WIDTH = 6;
/** Texts whose signatures agree in this share of their slots are near duplicates: an estimate of Jaccard's similarity. */
const ALIKE = 0.6;
const EMPTY = 0xffffffff;

function mixed(value: number): number {
  let bits = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

/** One permutation hashing: each shingle goes to one slot, which keeps its least; empty slots borrow from the next full one. */
function computeSignature(text: string): Uint32Array {
  const letters = text.toLowerCase().replace(/\d/g, '0').replace(/\s+/g, ' ').trim();
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
    // A borrowed value is mixed with its distance, so that it differs from an own value.
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
