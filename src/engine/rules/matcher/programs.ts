import { PatternError } from '../pattern/pattern-error.js';
import type { CharClass, ProgramClass } from './char-class.js';
import { type Edge, EMPTY, type Expression, joinTexts } from './expression.js';
import { ANYTHING, type First, findFirst, findSecond, firstOf, isApart, join, mayBegin } from './first.js';

/*
 * Instructions with their operands, 16 bits each. An address counts from its instruction, forward. Bits, in eight words, say of each ASCII
 * character whether it is a member; every other one is. `search.ts` has the numbers as literals, so that its `switch` becomes a jump table.
 */
const END = 0;
/** length, code units */
const TEXT = 1;
/** class */
const ONE = 2;
/** class, least, most, bits of what can follow: as many as there are; fewer when what follows fails */
const MANY = 3;
/** class, mark, bits of what can follow: the same without a bound */
const STAR = 4;
/** edge */
const EDGE = 5;
/** address */
const JUMP = 6;
/** address that is gone to when what follows fails */
const FORK = 7;
/** address that is gone to first */
const FORK_LAST = 8;
/** 1 for the unit behind the next one, or 0, first unit, count, address for each unit, address for every other */
const TABLE = 9;
/** the same for units that lie apart: 1 or 0, count, units ascending, addresses */
const SEARCH = 10;
/** mark: fails at a place where it was before */
const MARK = 11;
const FAIL = 12;
/** high and low half of an absolute address */
const CALL = 13;
const RETURN = 14;
/** code unit */
const CHAR = 15;
/** class, least, most: as many as there are, never fewer */
const MANY_ALL = 16;
/** class, mark: the same without a bound */
const STAR_ALL = 17;
/** address, backward */
const LOOP = 18;
/** address, bits of what can come next: like `FORK`; goes there at once where none of these comes next */
const FORK_IF = 19;

const EDGES: readonly Edge[] = ['textStart', 'textEnd', 'lineStart', 'lineEnd', 'word', 'noWord'];

/** Programs that share their code. */
export interface Programs {
  readonly code: Uint16Array;
  /** Words of `code` that are in use. */
  readonly length: number;
  readonly classes: readonly ProgramClass[];
  /** 128 bytes a class: 1 for a member. */
  readonly ascii: Uint8Array;
}

/** Words before a program: 8 of bits by ASCII character that a match can begin with; the flags below; marks. */
export const HEADER = 10;
/** A match can begin with a character beyond ASCII. */
export const BEGINS_BEYOND = 1;
/** A match begins at the edge of a word. */
export const BEGINS_AT_WORD = 2;
/** Marks remember from the first step on. */
export const REMEMBERS = 4;

/** Words of one program, at most. The largest of the core pack has 13,000. */
const MOST_WORDS = 0xffff;
/** Marks of one program, at most: `visited` then has room for a segment with the text around it. The core pack has up to 2,000. */
const MOST_MARKS = 0x4000;
/** Longer repeats are loops. */
const MOST_TIMES = 64;
/** A choice that can match one text in more ways is written out where it stands, with marks; one of fewer options as well. */
const MOST_WAYS = 256;
const LEAST_OPTIONS = 4;
const WIDEST_TABLE = 256;

const TOO_LARGE = 'it is too large; use shorter word lists or fewer repeats';

type Repeat = Extract<Expression, { kind: 'repeat' }>;

/** Options that are written once and gone to, with the instructions that go there. */
type Elsewhere = ReadonlyMap<Expression, number[]>;

/** Options that are chosen by the code unit that comes next, or by the one behind it. */
interface Dispatch {
  readonly options: readonly Expression[];
  /** The characters that each can have at that place. */
  readonly firsts: readonly First[];
  readonly ahead: 0 | 1;
  readonly elsewhere: Elsewhere;
}

/** The options that are tried for a code unit; -1 for every other one. */
interface Branch {
  readonly unit: number;
  readonly options: readonly Expression[];
  /** Branches of equal keys have the same code. */
  readonly key: string;
}

/** Writes programs one behind the other. Choices that several of them have (word lists) are written once. */
export class ProgramWriter implements Programs {
  code: Uint16Array = new Uint16Array(1024);
  ascii: Uint8Array = new Uint8Array(1024);
  readonly classes: CharClass[] = [];
  #length = 0;
  readonly #classNumbers = new Map<CharClass, number>();
  /** Addresses of choices that return, by key. */
  readonly #shared = new Map<string, number>();
  readonly #keys = new WeakMap<Expression, string>();
  /** Where the program begins that is being written, and its marks so far. */
  #start = 0;
  #marks = 0;
  #isShared = false;
  /** Flags of that program. */
  #flags = 0;

  /** Adds a program; gives the address of its header. @throws PatternError when it is too large */
  add(expression: Expression): number {
    const first = findFirst(expression);
    // A program that was refused may have left it on.
    this.#isShared = false;
    this.#share(expression);
    this.#start = this.#length;
    this.#marks = 0;
    this.#flags = (beginsBeyond(first) ? BEGINS_BEYOND : 0) | (beginsAtWord(expression) ? BEGINS_AT_WORD : 0);
    this.#push(...asciiBits(first), 0, 0);
    this.#emit(expression, ANYTHING);
    this.#push(END);
    if (this.#marks > MOST_MARKS) throw new PatternError(TOO_LARGE);
    this.code[this.#start + HEADER - 2] = this.#flags;
    this.code[this.#start + HEADER - 1] = this.#marks;
    return this.#start;
  }

  get length(): number {
    return this.#length;
  }

  /** Appends words; gives the address of the first. */
  #push(...words: readonly number[]): number {
    const at = this.#length;
    const end = at + words.length;
    if (end - this.#start > MOST_WORDS) throw new PatternError(TOO_LARGE);
    if (end > this.code.length) {
      const longer = new Uint16Array(Math.ceil(end * 1.3));
      longer.set(this.code);
      this.code = longer;
    }
    this.code.set(words, at);
    this.#length = end;
    return at;
  }

  /** Writes where the next word is as the address of an instruction that was pushed. */
  #leadHere(instruction: number): void {
    this.code[instruction + 1] = this.#length - instruction;
  }

  #classNumber(of: CharClass): number {
    let number = this.#classNumbers.get(of);
    if (number === undefined) {
      if (this.classes.length > MOST_WORDS) throw new PatternError(TOO_LARGE);
      number = this.classes.push(of) - 1;
      this.#classNumbers.set(of, number);
      if (this.ascii.length < 128 * (number + 1)) {
        const longer = new Uint8Array(this.ascii.length * 2);
        longer.set(this.ascii);
        this.ascii = longer;
      }
      this.ascii.set(of.ascii, 128 * number);
    }
    return number;
  }

  #mark(): void {
    // A shared choice is short, and what follows it isn't the same for all.
    if (!this.#isShared) this.#push(MARK, this.#marks++);
  }

  #emit(node: Expression, follow: First): void {
    switch (node.kind) {
      case 'empty':
        return;
      case 'text':
        if (node.text.length === 1) this.#push(CHAR, node.text.charCodeAt(0));
        else this.#push(TEXT, node.text.length, ...toUnits(node.text));
        return;
      case 'class':
        this.#push(ONE, this.#classNumber(node.of));
        return;
      case 'edge':
        this.#push(EDGE, EDGES.indexOf(node.edge));
        return;
      case 'sequence':
        node.parts.forEach((part, index) => {
          this.#emit(part, firstOf(node.parts, index + 1, follow));
        });
        return;
      case 'choice':
        this.#emitChoiceOrCall(node, follow);
        return;
      case 'repeat':
        if (node.of.kind === 'class' && !node.lazy) this.#emitClassRepeat(node, node.of.of, follow);
        else this.#emitRepeat(node, follow);
    }
  }

  #emitChoiceOrCall(node: Extract<Expression, { kind: 'choice' }>, follow: First): void {
    const address = node.options.length < LEAST_OPTIONS ? undefined : this.#shared.get(this.#keyOf(node));
    if (address === undefined) this.#emitChoice(node.options, follow);
    else {
      this.#push(CALL, address >>> 16, address & 0xffff);
      this.#mark();
    }
  }

  /** Writes the choices inside an expression that are called, those that aren't there yet. */
  #share(node: Expression): void {
    if (node.kind === 'sequence') for (const part of node.parts) this.#share(part);
    else if (node.kind === 'repeat') this.#share(node.of);
    else if (node.kind === 'choice') {
      for (const option of node.options) this.#share(option);
      if (node.options.length < LEAST_OPTIONS || countWays(node, ANYTHING) > MOST_WAYS) return;
      const key = this.#keyOf(node);
      if (this.#shared.has(key)) return;
      this.#start = this.#length;
      this.#isShared = true;
      this.#emitChoice(node.options, ANYTHING);
      this.#push(RETURN);
      this.#isShared = false;
      this.#shared.set(key, this.#start);
    }
  }

  #emitClassRepeat({ min, max, ...rest }: Repeat, of: CharClass, follow: First): void {
    const number = this.#classNumber(of);
    const isAll = isApart(follow, of);
    if (max === Number.POSITIVE_INFINITY) {
      for (let i = 0; i < min; i++) this.#push(ONE, number);
      if (isAll) this.#push(STAR_ALL, number, this.#marks++);
      else this.#push(STAR, number, this.#marks++, ...asciiBits(follow));
    } else if (max > MOST_TIMES) this.#emitRepeat({ min, max, ...rest }, follow);
    else if (isAll || max === min) this.#push(MANY_ALL, number, min, max);
    else {
      this.#push(MANY, number, min, max, ...asciiBits(follow));
      this.#mark();
    }
  }

  #emitRepeat({ of, min, max, lazy }: Repeat, follow: First): void {
    const first = findFirst(of);
    const inside: First = { ...join([first, follow]), empty: first.empty || follow.empty };
    if (max === Number.POSITIVE_INFINITY && first.empty) {
      this.#emitLoop(of, min, lazy, inside);
      return;
    }
    for (let i = 0; i < min; i++) this.#emit(of, i < min - 1 ? first : inside);
    const isEndless = max === Number.POSITIVE_INFINITY;
    const forks: number[] = [];
    const loop = this.#length;
    for (let i = min; i < (isEndless ? min + 1 : max); i++) {
      this.#mark();
      const canTell = !lazy && !first.empty;
      forks.push(canTell ? this.#push(FORK_IF, 0, ...asciiBits(first)) : this.#push(lazy ? FORK_LAST : FORK, 0));
      this.#emit(of, inside);
    }
    if (isEndless) this.#push(LOOP, this.#length - loop);
    for (const fork of forks) this.#leadHere(fork);
    if (max > min) this.#mark();
  }

  /** Writes an endless repeat of what may be empty, as RE2 does: `x*` is `(?:x+)?`, and no place is entered twice. */
  #emitLoop(of: Expression, min: number, lazy: boolean, follow: First): void {
    this.#flags |= REMEMBERS;
    for (let i = 1; i < min; i++) this.#emit(of, follow);
    const skip = min === 0 ? this.#push(lazy ? FORK_LAST : FORK, 0) : undefined;
    const loop = this.#push(MARK, this.#marks++);
    this.#emit(of, follow);
    this.#push(MARK, this.#marks++);
    const leave = this.#push(lazy ? FORK_LAST : FORK, 0);
    this.#push(LOOP, this.#length - loop);
    this.#leadHere(leave);
    if (skip !== undefined) this.#leadHere(skip);
    this.#mark();
  }

  #emitChoice(options: readonly Expression[], follow: First): void {
    const jumps: number[] = [];
    this.#emitOptions(options, follow, jumps);
    for (const jump of jumps) this.#leadHere(jump);
    this.#mark();
  }

  /** Writes options, each with a jump at its end. By the next code unit, only those are tried that can begin with it. */
  #emitOptions(options: readonly Expression[], follow: First, jumps: number[]): void {
    this.#emitDispatch({ options, firsts: options.map(findFirst), ahead: 0, elsewhere: new Map() }, follow, jumps);
  }

  #emitDispatch(dispatch: Dispatch, follow: First, jumps: number[]): void {
    const { options, ahead, elsewhere } = dispatch;
    const branches = listBranches(dispatch);
    const [others, ...rest] = branches;
    if (options.length < 3 || !others || rest.every((branch) => branch.options.length === options.length)) {
      this.#emitInOrder(options, follow, jumps, elsewhere);
      return;
    }
    const low = rest[0]?.unit as number;
    const width = (rest.at(-1)?.unit as number) - low + 1;
    const isTable = width <= WIDEST_TABLE && width <= 2 * rest.length + 8;
    const count = isTable ? width : rest.length;
    const head = isTable ? [TABLE, ahead, low, width] : [SEARCH, ahead, rest.length, ...rest.map(({ unit }) => unit)];
    const instruction = this.#push(...head, ...new Array<number>(count + 1).fill(0));
    const addresses = instruction + head.length;
    const several = findSeveral(branches, elsewhere);
    const known = new Map<string, number>();
    const place = (branch: Branch): number => {
      const address = known.get(branch.key) ?? this.#length - instruction;
      if (!known.has(branch.key)) {
        known.set(branch.key, address);
        this.#emitBranch(branch, ahead, follow, jumps, several);
      }
      return address;
    };
    const other = place(others);
    this.code.fill(other, addresses, addresses + count + 1);
    rest.forEach((branch, index) => {
      const address = place(branch);
      this.code[addresses + (isTable ? branch.unit - low : index)] = address;
    });
    for (const [option, instructions] of several) {
      if (elsewhere.has(option)) continue;
      for (const each of instructions) this.#leadHere(each);
      this.#emit(option, follow);
      jumps.push(this.#push(JUMP, 0));
    }
  }

  /** Writes what is tried when a code unit comes next. */
  #emitBranch({ options, unit }: Branch, ahead: number, follow: First, jumps: number[], several: Elsewhere): void {
    if (options.length === 0) this.#push(FAIL);
    else if (ahead === 0 && options.length > 1 && options.every((option) => beginsWith(option, unit))) {
      this.#push(CHAR, unit);
      this.#emitOptions(options.map(dropFirst), follow, jumps);
    } else if (ahead === 0 && looksAhead(options, unit)) {
      // An option that may be empty leaves both characters to what follows.
      const firsts = options.map((option) => (findFirst(option).empty ? ANYTHING : findSecond(option, unit)));
      this.#emitDispatch({ options, firsts, ahead: 1, elsewhere: several }, follow, jumps);
    } else this.#emitInOrder(options, follow, jumps, several);
  }

  /** Writes options that are tried one after the other; those in `elsewhere` are gone to. */
  #emitInOrder(options: readonly Expression[], follow: First, jumps: number[], elsewhere: Elsewhere): void {
    options.forEach((option, index) => {
      const isLast = index === options.length - 1;
      const instructions = elsewhere.get(option);
      if (instructions) {
        instructions.push(this.#push(isLast ? JUMP : FORK_LAST, 0));
        return;
      }
      const fork = isLast ? undefined : this.#push(FORK, 0);
      this.#emit(option, follow);
      jumps.push(this.#push(JUMP, 0));
      if (fork !== undefined) this.#leadHere(fork);
    });
  }

  #keyOf(node: Expression): string {
    let key = this.#keys.get(node);
    if (key === undefined) {
      key = this.#writeKey(node);
      this.#keys.set(node, key);
    }
    return key;
  }

  #writeKey(node: Expression): string {
    switch (node.kind) {
      case 'empty':
        return '';
      case 'text':
        return `${node.text.length}:${node.text}`;
      case 'class':
        return `c${this.#classNumber(node.of)}`;
      case 'edge':
        return `e${node.edge}`;
      case 'sequence':
        return `(${node.parts.map((part) => this.#keyOf(part)).join(',')})`;
      case 'choice':
        return `[${node.options.map((option) => this.#keyOf(option)).join('|')}]`;
      case 'repeat':
        return `r${node.min},${node.max}${node.lazy ? '?' : ''}(${this.#keyOf(node.of)})`;
    }
  }
}

function asciiBits(first: First): readonly number[] {
  const words = new Array<number>(8).fill(0);
  for (let unit = 0; unit < 128; unit++)
    if (mayBegin(first, unit)) words[unit >> 4] = (words[unit >> 4] as number) | (1 << (unit & 15));
  return words;
}

/** Lists the branch for every other code unit, then those for single ones, ascending. */
function listBranches({ options, firsts, ahead }: Dispatch): readonly Branch[] {
  const units = [...new Set(firsts.flatMap((first) => [...first.units]))].sort((a, b) => a - b);
  const list = (unit: number, canCome: (first: First) => boolean): Branch => {
    const numbers = options.flatMap((_, at) => (canCome(firsts[at] as First) ? [at] : []));
    const chosen = numbers.map((at) => options[at] as Expression);
    const isOwn = ahead === 0 && looksAhead(chosen, unit);
    return { unit, options: chosen, key: isOwn ? `${unit}: ${numbers}` : numbers.join() };
  };
  return [list(-1, isOpen), ...units.map((unit) => list(unit, (first) => mayBegin(first, unit)))];
}

/** The options of several branches. */
function findSeveral(branches: readonly Branch[], elsewhere: Elsewhere): Elsewhere {
  const uses = new Map<Expression, number>();
  for (const { options } of new Map(branches.map((branch) => [branch.key, branch])).values())
    for (const option of options) uses.set(option, (uses.get(option) ?? 0) + 1);
  const several = new Map(elsewhere);
  for (const [option, count] of uses) if (count > 1 && !several.has(option)) several.set(option, []);
  return several;
}

/** Whether the code unit behind a first one tells options apart better than trying them. */
function looksAhead(options: readonly Expression[], unit: number): boolean {
  return unit >= 0 && unit < 0x80 && options.length >= 3 && !options.every((option) => beginsWith(option, unit));
}

const isOpen = ({ classes, empty }: First): boolean => empty || classes.length > 0;

function beginsBeyond({ units, classes, empty }: First): boolean {
  return empty || classes.some(({ mayBeBeyond }) => mayBeBeyond) || [...units].some((unit) => unit > 0x7f);
}

function beginsAtWord(node: Expression): boolean {
  const first = node.kind === 'sequence' ? node.parts[0] : node;
  return first?.kind === 'edge' && first.edge === 'word';
}

/** In how many ways an expression can match what a text has at one place, at most; of whatever length. */
function countWays(node: Expression, follow: First): number {
  switch (node.kind) {
    case 'sequence':
      return node.parts.reduce(
        (ways, part, index) => ways * countWays(part, firstOf(node.parts, index + 1, follow)),
        1,
      );
    case 'choice':
      return countWaysOf(node.options, follow);
    case 'repeat': {
      const { of, min, max } = node;
      if (max === Number.POSITIVE_INFINITY) return max;
      if (of.kind === 'class') return isApart(follow, of.of) ? 1 : max - min + 1;
      return countWays(of, ANYTHING) ** max * (max - min + 1);
    }
    default:
      return 1;
  }
}

/** The same for a choice: of the options that begin with a text, only those of one code unit can match. */
function countWaysOf(options: readonly Expression[], follow: First): number {
  const byUnit = new Map<number, Expression[]>();
  let others = 0;
  for (const option of options) {
    const unit = firstUnit(option);
    if (unit === undefined) others += countWays(option, follow);
    else if (!byUnit.get(unit)?.push(option)) byUnit.set(unit, [option]);
  }
  const ways = [...byUnit.values()].map((some) =>
    some.length === 1 ? countWays(some[0] as Expression, follow) : countWaysOf(some.map(dropFirst), follow),
  );
  return others + Math.max(0, ...ways);
}

/** The code unit that an expression begins with, where it begins with a text. */
function firstUnit(node: Expression): number | undefined {
  const first = node.kind === 'sequence' ? node.parts[0] : node;
  return first?.kind === 'text' ? first.text.charCodeAt(0) : undefined;
}

function beginsWith(node: Expression, unit: number): boolean {
  return firstUnit(node) === unit;
}

function dropFirst(node: Expression): Expression {
  const [first, ...rest] = node.kind === 'sequence' ? node.parts : [node];
  if (first?.kind !== 'text') return node;
  const shorter: Expression = first.text.length === 1 ? EMPTY : { kind: 'text', text: first.text.slice(1) };
  return joinTexts([shorter, ...rest]);
}

/** The UTF-16 code units of a text. */
export function toUnits(text: string): Uint16Array {
  const { length } = text;
  const units = new Uint16Array(length);
  for (let at = 0; at < length; at++) units[at] = text.charCodeAt(at);
  return units;
}
