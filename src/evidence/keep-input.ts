import { hash } from 'node:crypto';
import type { Keep, KeptInput, KeptText } from './evidence-record.js';

/**
 * Applies an account's setting to a text that was screened. `json`: the caller sent another JSON value than a string.
 * `maskedText`: where the text was masked already.
 */
export function keepInput(text: string, json: boolean, keep: Keep, maskedText?: string): KeptInput {
  return { ...keepText(text, keep, maskedText), json };
}

/** Applies the setting to any text. */
export function keepText(text: string, keep: Keep, maskedText?: string): KeptText {
  return {
    kept: keep,
    text: keep === 'whole' ? text : keep === 'masked' ? (maskedText ?? masked(text)) : null,
    sha256: hash('sha256', text),
    length: text.length,
  };
}

/** A kind of text that is masked. Every quantifier is bounded: no text makes it slow. */
interface Secret {
  readonly pattern: RegExp;
  /** Says whether a match really is one. */
  readonly fits?: (match: string) => boolean;
}

const NAME =
  '(?:pass(?:word|wd|phrase|code)?|pwd|kennwort|passwort|mot de passe|contrase(?:ñ|n)a|secret|token|credentials?|api[_ -]?key|(?:access|private|secret|client|auth|signing)[_ -]?(?:key|token|secret)|cvv2?|cvc|pin)';

/** `d` gives the place of the group `secret`, where only a part of the match is to go. */
const secrets: readonly Secret[] = [
  {
    pattern: /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]{0,20000}(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?/dg,
  },
  { pattern: /[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/@]{0,100}:(?<secret>[^\s/@]{1,200})@/dgi },
  { pattern: /\b(?:Bearer|Basic)[ \t]{1,4}(?<secret>[A-Za-z0-9._~+/=-]{8,4096})/dgi },
  // A value in quotes goes to the closing quote, so that one with spaces goes whole.
  {
    pattern: new RegExp(
      `(?<![\\p{L}\\p{N}])(?:[\\p{L}\\p{N}]{1,20}[_-])?${NAME}\\\\?["'\`]?\\s{0,8}(?:[:=]|=>|:=)\\s{0,8}\\\\?(?<quote>["'\`])(?<secret>[^"'\`\\\\\\n]{1,500})`,
      'dgiu',
    ),
  },
  {
    pattern: new RegExp(
      `(?<![\\p{L}\\p{N}])(?:[\\p{L}\\p{N}]{1,20}[_-])?${NAME}["'\`]?\\s{0,8}(?:[:=]|=>|:=|\\bis\\b|\\bist\\b)\\s{0,8}(?<secret>[^\\s"'\`,;{}\\[\\]]{3,500})`,
      'dgiu',
    ),
  },
  { pattern: /\beyJ[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{4,8192}(?:\.[A-Za-z0-9_-]{0,4096})?/dg },
  {
    pattern:
      /(?<![A-Za-z0-9])(?:svc_live_|sk[-_]|[rp]k_(?:live|test)_|gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|hf_|npm_|pypi-|dop_v1_|shp(?:at|ca|ss)_|whsec_|ya29\.|SG\.)[A-Za-z0-9._-]{12,500}/dg,
  },
  {
    pattern: /(?<![A-Za-z0-9])(?:A(?:KIA|SIA|GPA|IDA|ROA|NPA)[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{35})(?![A-Za-z0-9])/dg,
  },
  {
    pattern: /(?<![\p{L}\p{N}._%+-])[\p{L}\p{N}._%+'-]{1,64}@[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63}){1,8}/dgu,
  },
  {
    pattern: /(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])/dg,
    fits: isIban,
  },
  { pattern: /(?<![\d.])\d(?:[ -]?\d){12,18}(?!\d)/dg, fits: isCardNumber },
  { pattern: /(?<!\d)\d{3}-\d{2}-\d{4}(?![\d-])/dg },
  {
    pattern: /(?<![\p{L}\p{N}.])(?:\+|00)?\(?\d[\d \u00a0()./-]{5,22}\d(?![\p{L}\p{N}])/dgu,
    fits: isPhoneNumber,
  },
  {
    pattern: /(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{32,500}={0,2}(?![A-Za-z0-9+/_-])/dg,
    fits: looksRandom,
  },
];

/** Stands for one UTF-16 code unit of what was masked. */
const MASK_CHARACTER = '•';

/**
 * The text with e-mail addresses, phone, card and account numbers, keys and tokens, and the values of what is named as a
 * secret replaced by as many `•`: its length stays, so spans stay aligned. Best effort: names and addresses of people stay. A
 * megabyte takes up to a fifth of a second.
 */
export function masked(text: string): string {
  return secrets.reduce(maskKind, text);
}

function maskKind(text: string, { pattern, fits }: Secret): string {
  // A string that grew match by match would take long to be read.
  const parts: string[] = [];
  /** Up to where the text is done. */
  let done = 0;
  for (const match of text.matchAll(pattern)) {
    const [from, to] = match.indices?.groups?.secret ?? match.indices?.[0] ?? [0, 0];
    if (fits && !fits(text.slice(from, to))) continue;
    parts.push(text.slice(done, from), MASK_CHARACTER.repeat(to - from));
    done = to;
  }
  return parts.length === 0 ? text : parts.join('') + text.slice(done);
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
