/** Joints of a value with what was read before it, and of its strings with each other: an order may be divided over them. */
import type { Input } from '../../../engine/input.js';
import { digestInput } from '../../screener.js';
import { proseOf } from './prose.js';

/** Texts around the joints of a value. */
export interface Joints {
  /**
   * Pieces that are judged together, those of each list in their order: the end of what was read before with the ends of the value's
   * strings, and the end of the value with the beginning of what was read before. Lists that have passed are left out.
   */
  pieces: readonly (readonly string[])[];
  /** The task of the value: the newest turns of the user before it, oldest first, or their text. */
  readonly said: readonly string[];
}

/** The first and the last characters of what a value's strings say; empty where they say nothing. */
export interface OuterEnds {
  /** Undefined where it isn't kept. */
  readonly start: string | undefined;
  readonly end: string;
}

/** The ends of a value's strings. */
export interface JointEnds extends OuterEnds {
  /** Digest of what the strings say. */
  readonly name: string;
  /** Pieces around their joints with each other. */
  readonly alone: readonly string[];
  /** The same where something was read before them. */
  readonly joined: readonly string[];
}

/** Characters on each side of a joint, and around all joints of one value. */
const JOINT_LENGTH = 300;
const JOINTS_LENGTH = 6_000;

/** Reads the ends of a value's strings. `input`: the text that a value without strings of its own, such as bytes, is read as. */
export function readEnds(value: unknown, input?: Input): JointEnds {
  const said = proseOf(value);
  const prose = said.length > 0 ? said : proseOf(input);
  const whole = prose.join('\n');
  return {
    name: digestInput(whole, 'unknown'),
    start: structuredClone(whole.slice(0, JOINT_LENGTH)),
    end: structuredClone(whole.slice(-JOINT_LENGTH)),
    alone: endsOf(prose),
    joined: endsOf([' '.repeat(JOINT_LENGTH), ...prose]).slice(1),
  };
}

/** The joints of a value behind what was read and said before. */
export function jointsOf(
  { alone, joined, end }: JointEnds,
  before: OuterEnds | undefined,
  said: readonly string[],
): Joints {
  if (before === undefined || joined.length === 0) return { pieces: alone.length < 2 ? [] : [alone], said };
  // Of results that are read at once the second may come first. A long one isn't put in one list with itself: its end would meet its start.
  if (before.start === before.end) return { pieces: [[end, before.end, ...joined]], said };
  const back = before.start === undefined ? [] : [[end, before.start]];
  return { pieces: [[before.end, ...joined], ...back], said };
}

/** Texts around the joints between others; of many, 100 pieces at most. Copies, since a slice keeps the whole text alive. */
function endsOf(texts: readonly string[]): readonly string[] {
  let left = JOINTS_LENGTH;
  return texts.flatMap((text, at) => {
    const [before, after] = [text.slice(0, JOINT_LENGTH), text.slice(-JOINT_LENGTH)];
    const ends = text.length > 2 * JOINT_LENGTH ? [before, after] : [text];
    const pieces = at === 0 ? [after] : at === texts.length - 1 ? [before] : ends;
    for (const piece of pieces) left -= Math.max(piece.length, JOINTS_LENGTH / 100);
    return left < 0 ? [] : structuredClone(pieces);
  });
}
