import type { ClassItem, PatternNode } from './pattern-node.js';

/** A set of script families as bits; a pattern that requires a family is matched only against texts that hold it. */
export type ScriptMask = number;

/** Script families by block range, rarest first; bit n is entry n. Latin letters are folded to ASCII and need no bit. */
const FAMILIES: readonly (readonly [string, readonly (readonly [number, number])[]])[] = [
  ['greek', [[0x370, 0x3ff]]],
  ['cyrillic', [[0x400, 0x52f]]],
  ['armenian', [[0x530, 0x58f]]],
  ['hebrew', [[0x590, 0x5ff]]],
  [
    'arabic',
    [
      [0x600, 0x77f],
      [0x8a0, 0x8ff],
      [0xfb50, 0xfdff],
      [0xfe70, 0xfeff],
    ],
  ],
  ['indic', [[0x900, 0xdff]]],
  ['thai', [[0xe00, 0xeff]]],
  ['tibetan-burmese', [[0xf00, 0x109f]]],
  [
    'georgian',
    [
      [0x10a0, 0x10ff],
      [0x1c90, 0x1cbf],
      [0x2d00, 0x2d2f],
    ],
  ],
  [
    'hangul',
    [
      [0x1100, 0x11ff],
      [0x3130, 0x318f],
      [0xac00, 0xd7ff],
    ],
  ],
  ['ethiopic', [[0x1200, 0x139f]]],
  ['khmer-mongolian', [[0x1780, 0x18af]]],
  ['kana', [[0x3040, 0x30ff]]],
  [
    'han',
    [
      [0x2e80, 0x2fdf],
      [0x3400, 0x4dbf],
      [0x4e00, 0x9fff],
    ],
  ],
];
/** Every other character outside ASCII. */
const OTHER = 1 << FAMILIES.length;

/** Family bit by block of 16 characters, for the whole Basic Multilingual Plane. */
const BITS: Int32Array = (() => {
  const bits = new Int32Array(0x1000).fill(OTHER);
  bits.fill(0, 0, 8);
  FAMILIES.forEach(([, ranges], index) => {
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

/** The rarest family of a mask (a Japanese pattern is recognised by its kana, not by its Han); 0 for none. */
export function rarestScript(mask: ScriptMask): ScriptMask {
  return mask & -mask;
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
