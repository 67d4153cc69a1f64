import { codePointRanges } from '../../span.js';
import type { ClassItem, PatternNode } from './pattern-node.js';

/** A set of script families as bits; a pattern that requires a family is matched only against texts that hold it. */
export type ScriptMask = number;

/** Script families by block range, rarest first; bit n is entry n. Latin letters are folded to ASCII and need no bit. */
const FAMILIES = {
  greek: '370-3ff',
  cyrillic: '400-52f',
  armenian: '530-58f',
  hebrew: '590-5ff',
  arabic: '600-77f 8a0-8ff fb50-fdff fe70-feff',
  indic: '900-dff',
  thai: 'e00-eff',
  tibetanAndBurmese: 'f00-109f',
  georgian: '10a0-10ff 1c90-1cbf 2d00-2d2f',
  hangul: '1100-11ff 3130-318f ac00-d7ff',
  ethiopic: '1200-139f',
  khmerAndMongolian: '1780-18af',
  kana: '3040-30ff',
  han: '2e80-2fdf 3400-4dbf 4e00-9fff',
};
const BLOCKS = Object.values(FAMILIES).map(codePointRanges);
/** Every other character outside ASCII. */
const OTHER = 1 << BLOCKS.length;

/** Family bit by block of 16 characters, for the whole Basic Multilingual Plane. */
const BITS: Int32Array = (() => {
  const bits = new Int32Array(0x1000).fill(OTHER);
  bits.fill(0, 0, 8);
  BLOCKS.forEach((ranges, index) => {
    for (const [low, high] of ranges) bits.fill(1 << index, low >> 4, (high >> 4) + 1);
  });
  return bits;
})();

/** The family of one character; 0 for ASCII. */
function toScript(point: number): ScriptMask {
  return point > 0xffff ? OTHER : (BITS[point >> 4] as number);
}

/** All families that a text holds, in one linear pass. */
export function findScripts(text: string): ScriptMask {
  let mask = 0;
  for (let i = 0; i < text.length; i++) mask |= BITS[text.charCodeAt(i) >> 4] as number;
  return mask;
}

/** The script families that every match of a pattern holds. 0: none is certain. */
export function requiredScripts(node: PatternNode): ScriptMask {
  switch (node.kind) {
    case 'char':
      return toScript(node.text.codePointAt(0) ?? 0);
    case 'class':
      return node.negated || node.items.length === 0 ? 0 : node.items.map(itemScripts).reduce((a, b) => a & b);
    case 'sequence':
      return node.parts.map(requiredScripts).reduce((a, b) => a | b, 0);
    case 'choice':
      return node.options.map(requiredScripts).reduce((a, b) => a & b);
    case 'repeat':
      return node.min > 0 ? requiredScripts(node.of) : 0;
    case 'group':
      return node.of ? requiredScripts(node.of) : 0;
    case 'words':
      return requiredScripts(node.of);
    default:
      return 0;
  }
}

function itemScripts(item: ClassItem): ScriptMask {
  if ('escape' in item) return 0;
  const low = toScript(item.low);
  return item.high - item.low < 0x8000 && low === toScript(item.high) && isUniform(item.low, item.high, low) ? low : 0;
}

function isUniform(low: number, high: number, mask: ScriptMask): boolean {
  for (let point = low; point <= high; point += 16) if (toScript(point) !== mask) return false;
  return true;
}
