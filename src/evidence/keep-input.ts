import { hash } from 'node:crypto';
import type { Keep, KeptInput } from './evidence-record.js';

/**
 * What an account's setting leaves of a text that was screened. `json`: the caller sent another JSON value than a string.
 * `maskedText`: where the text was masked already.
 */
export function keepInput(text: string, json: boolean, keep: Keep, maskedText?: string): KeptInput {
  return {
    kept: keep,
    text: keep === 'whole' ? text : keep === 'masked' ? (maskedText ?? masked(text)) : null,
    sha256: hash('sha256', text),
    length: text.length,
    json,
  };
}

/** A kind of text that is masked. Every quantifier is bounded: no text makes it slow, and no match is longer than `longest`. */
interface Secret {
  readonly pattern: RegExp;
  /** UTF-16 code units of the longest match, with what the pattern looks ahead at. */
  readonly longest: number;
  /** Says whether a match really is one. */
  readonly fits?: (match: string) => boolean;
}

const NAME =
  '(?:pass(?:word|wd|phrase|code)?|pwd|kennwort|passwort|mot de passe|contrase(?:ñ|n)a|secret|token|credentials?|api[_ -]?key|(?:access|private|secret|client|auth|signing)[_ -]?(?:key|token|secret)|cvv2?|cvc|pin)';

/** `d` gives the place of the group `secret`, where only a part of the match is to go. */
const secrets: readonly Secret[] = [
  {
    pattern: /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]{0,20000}(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?/dg,
    longest: 20_200,
  },
  { pattern: /[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/@]{0,100}:(?<secret>[^\s/@]{1,200})@/dgi, longest: 400 },
  { pattern: /\b(?:Bearer|Basic)[ \t]{1,4}(?<secret>[A-Za-z0-9._~+/=-]{8,4096})/dgi, longest: 4_200 },
  // A value in quotes goes to the closing quote, so that one with spaces goes whole.
  {
    pattern: new RegExp(
      `(?<![\\p{L}\\p{N}])(?:[\\p{L}\\p{N}]{1,20}[_-])?${NAME}\\\\?["'\`]?\\s{0,8}(?:[:=]|=>|:=)\\s{0,8}\\\\?(?<quote>["'\`])(?<secret>[^"'\`\\\\\\n]{1,500})`,
      'dgiu',
    ),
    longest: 1_200,
  },
  {
    pattern: new RegExp(
      `(?<![\\p{L}\\p{N}])(?:[\\p{L}\\p{N}]{1,20}[_-])?${NAME}["'\`]?\\s{0,8}(?:[:=]|=>|:=|\\bis\\b|\\bist\\b)\\s{0,8}(?<secret>[^\\s"'\`,;{}\\[\\]]{3,500})`,
      'dgiu',
    ),
    longest: 1_200,
  },
  { pattern: /\beyJ[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{4,8192}(?:\.[A-Za-z0-9_-]{0,4096})?/dg, longest: 16_500 },
  {
    pattern:
      /(?<![A-Za-z0-9])(?:svc_live_|sk[-_]|[rp]k_(?:live|test)_|gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|hf_|npm_|pypi-|dop_v1_|shp(?:at|ca|ss)_|whsec_|ya29\.|SG\.)[A-Za-z0-9._-]{12,500}/dg,
    longest: 600,
  },
  {
    pattern: /(?<![A-Za-z0-9])(?:A(?:KIA|SIA|GPA|IDA|ROA|NPA)[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{35})(?![A-Za-z0-9])/dg,
    longest: 50,
  },
  {
    pattern: /(?<![\p{L}\p{N}._%+-])[\p{L}\p{N}._%+'-]{1,64}@[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63}){1,8}/dgu,
    longest: 1_400,
  },
  {
    pattern: /(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])/dg,
    longest: 60,
    fits: isIban,
  },
  { pattern: /(?<![\d.])\d(?:[ -]?\d){12,18}(?!\d)/dg, longest: 50, fits: isCardNumber },
  { pattern: /(?<!\d)\d{3}-\d{2}-\d{4}(?![\d-])/dg, longest: 20 },
  {
    pattern: /(?<![\p{L}\p{N}.])(?:\+|00)?\(?\d[\d \u00a0()./-]{5,22}\d(?![\p{L}\p{N}])/dgu,
    longest: 50,
    fits: isPhoneNumber,
  },
  {
    pattern: /(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{32,500}={0,2}(?![A-Za-z0-9+/_-])/dg,
    longest: 600,
    fits: looksRandom,
  },
];

/** Stands for one UTF-16 code unit of what was masked. */
const MASK_CHARACTER = '•';

/**
 * The text with e-mail addresses, phone, card and account numbers, keys and tokens, and the values of what is named as a
 * secret replaced by as many `•`: its length stays, so spans stay aligned. Best effort: names and addresses of people stay.
 */
export function masked(text: string): string {
  const steps = maskSteps(text);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** UTF-16 code units that are searched for one kind of secret in a step: two milliseconds at most. */
const PIECE = 32 * 1024;
/** What patterns look back at: one character. */
const BEHIND = 2;

/** Masking in short steps: all of a megabyte takes up to a fifth of a second. Gives the masked text at the end. */
export function* maskSteps(text: string, piece: number = PIECE): Generator<void, string, void> {
  let out = text;
  for (const secret of secrets) out = yield* maskKind(out, secret, piece);
  return out;
}

/** Masks one kind, `piece` by `piece`. A piece is searched together with what a match that begins in it may reach. */
function* maskKind(out: string, { pattern, longest, fits }: Secret, piece: number): Generator<void, string, void> {
  /** One for each piece with a match: a string that grew match by match would take long to be read. */
  const done: string[] = [];
  /** Up to where the text is done. */
  let read = 0;
  for (let at = 0; at < out.length; ) {
    const begin = Math.max(0, at - BEHIND);
    const end = startOfCharacter(out, at + piece);
    const searched = out.slice(begin, end + longest);
    let next = end;
    const parts: string[] = [];
    pattern.lastIndex = at - begin;
    for (let match = pattern.exec(searched); match !== null; match = pattern.exec(searched)) {
      if (begin + match.index >= end) break;
      next = Math.max(end, begin + pattern.lastIndex);
      const [from, to] = match.indices?.groups?.secret ?? match.indices?.[0] ?? [0, 0];
      if (fits && !fits(searched.slice(from, to))) continue;
      parts.push(out.slice(read, begin + from), MASK_CHARACTER.repeat(to - from));
      read = begin + to;
    }
    if (parts.length > 0) done.push(parts.join(''));
    at = next;
    yield;
  }
  return done.length === 0 ? out : done.join('') + out.slice(read);
}

/** The place itself, or the next one where it would halve a surrogate pair. */
function startOfCharacter(text: string, at: number): number {
  return (text.codePointAt(at - 1) ?? 0) > 0xffff ? at + 1 : at;
}

function readDigits(text: string): string {
  return text.replaceAll(/\D/g, '');
}

/** Luhn's check, as on payment cards. @see ISO/IEC 7812-1 */
function isCardNumber(text: string): boolean {
  const digits = readDigits(text);
  let sum = 0;
  for (let i = 0; i < digits.length; i += 1) {
    const digit = Number(digits[digits.length - 1 - i]);
    const doubled = i % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0 && !/^(\d)\1+$/.test(digits);
}

/** The check digits of an international bank account number. @see ISO 13616 */
function isIban(text: string): boolean {
  const plain = text.replaceAll(' ', '');
  if (plain.length < 15 || plain.length > 34) return false;
  let rest = 0;
  for (const sign of plain.slice(4) + plain.slice(0, 4)) {
    const value = Number.parseInt(sign, 36);
    rest = (value > 9 ? rest * 100 + value : rest * 10 + value) % 97;
  }
  return rest === 1;
}

const NORTH_AMERICAN = /^\(?[2-9]\d{2}\)?[ .-]?[2-9]\d{2}[ .-]\d{4}$/;

/** A number that is dialled: 7 to 15 digits, written as one. Dates, versions and plain counts aren't. */
function isPhoneNumber(text: string): boolean {
  const digits = readDigits(text).length;
  if (digits < 7 || digits > 15) return false;
  if (text.startsWith('+') || text.startsWith('00')) return true;
  if (/^\(?0\d/.test(text)) return digits >= 8 && !/^\d{2}[./-]\d{2}[./-]\d{2,4}$/.test(text);
  return NORTH_AMERICAN.test(text);
}

/** A run with capitals, small letters and digits mixed as only chance does. */
function looksRandom(text: string): boolean {
  if (!/\d/.test(text)) return false;
  if (/^[0-9a-f]+$/.test(text) || /^[0-9A-F]+$/.test(text)) return /[a-fA-F]/.test(text);
  if (!/[a-z]/.test(text) || !/[A-Z]/.test(text)) return false;
  const seen = new Map<string, number>();
  for (const sign of text) seen.set(sign, (seen.get(sign) ?? 0) + 1);
  let bits = 0;
  for (const count of seen.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits >= 3.7;
}
