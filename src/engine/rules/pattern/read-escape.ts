import type { PatternProblem } from './pattern-node.js';

/** An escape: a character (`point`), or a class or edge that RE2 knows by this source. */
export interface EscapeReading {
  readonly point: number | undefined;
  readonly source: string;
  /** Offset just after it. */
  readonly end: number;
}

const CONTROLS: Readonly<Record<string, number>> = { n: 10, t: 9, r: 13, f: 12, v: 11, a: 7 };
const HEX = /^(?:x([0-9a-fA-F]{2})|x\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\})/;
const PROPERTY = /^[pP](?:[A-Z]|\{\^?[A-Za-z_=]+\})/;

/** Reads the escape that starts with the backslash at `at`. */
export function readEscape(source: string, at: number): EscapeReading | PatternProblem {
  const rest = source.slice(at + 1, at + 40);
  const letter = rest[0];
  if (letter === undefined)
    return refuse('The pattern ends in a lone backslash.', 'Write `\\\\` for a backslash.', at, 1);
  const hex = HEX.exec(rest);
  if (hex) {
    const point = Number.parseInt(hex[1] ?? hex[2] ?? hex[3] ?? hex[4] ?? '', 16);
    if (point > 0x10ffff) return refuse('There is no such code point.', 'Use at most 10FFFF.', at, hex[0].length + 1);
    return { point, source: source.slice(at, at + 1 + hex[0].length), end: at + 1 + hex[0].length };
  }
  const property = PROPERTY.exec(rest);
  if (property) return named(source, at, property[0].length);
  const control = CONTROLS[letter];
  if (control !== undefined) return { point: control, source: `\\${letter}`, end: at + 2 };
  if ('dDwWsSbBAz'.includes(letter)) return named(source, at, 1);
  if (/[0-9]/.test(letter)) {
    return refuse('RE2 has no back-references.', 'Write the alternatives out.', at, 2);
  }
  if (/[A-Za-z]/.test(letter)) {
    return refuse(`RE2 has no escape \`\\${letter}\`.`, 'Leave the backslash out, or see the RE2 syntax page.', at, 2);
  }
  const point = source.codePointAt(at + 1) ?? 0;
  const text = String.fromCodePoint(point);
  return { point, source: `\\${text}`, end: at + 1 + text.length };
}

function named(source: string, at: number, length: number): EscapeReading {
  return { point: undefined, source: source.slice(at, at + 1 + length), end: at + 1 + length };
}

function refuse(message: string, advice: string, at: number, length: number): PatternProblem {
  return { code: 'PACK021', message, advice, at, length };
}
