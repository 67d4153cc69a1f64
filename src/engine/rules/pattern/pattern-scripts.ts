import type { ClassItem, PatternNode } from './pattern-node.js';
import { type ScriptMask, scriptOf } from './scripts.js';

/** The script families that every match of a pattern holds. 0: none is sure. */
export function patternScripts(node: PatternNode): ScriptMask {
  switch (node.kind) {
    case 'char':
      return scriptOf(node.text.codePointAt(0) ?? 0);
    case 'class':
      return node.negated || node.items.length === 0 ? 0 : node.items.map(itemScripts).reduce((a, b) => a & b);
    case 'sequence':
      return node.parts.map(patternScripts).reduce((a, b) => a | b, 0);
    case 'choice':
      return node.options.map(patternScripts).reduce((a, b) => a & b);
    case 'repeat':
      return node.min > 0 ? patternScripts(node.of) : 0;
    case 'group':
      return node.of ? patternScripts(node.of) : 0;
    case 'words':
      return patternScripts(node.of);
    default:
      return 0;
  }
}

function itemScripts(item: ClassItem): ScriptMask {
  if ('escape' in item) return 0;
  const low = scriptOf(item.low);
  return item.high - item.low < 0x8000 && low === scriptOf(item.high) && sameAllThrough(item.low, item.high, low)
    ? low
    : 0;
}

function sameAllThrough(low: number, high: number, mask: ScriptMask): boolean {
  for (let point = low; point <= high; point += 16) if (scriptOf(point) !== mask) return false;
  return true;
}
