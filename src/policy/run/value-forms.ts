/** Forms of an address or number that lead to the same place. */
import { domainToASCII, domainToUnicode } from 'node:url';
import { fold } from '../../engine/text/normalize/fold.js';
import type { Value } from './values.js';

/** Country codes. @see ITU-T E.164, list of assigned codes */
const COUNTRY = /^(?:1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|\d{3})/;
/** Digits of a number within its country. */
const MIN_NATIONAL = 7;
/** More digits than a number has within its country: it begins with the code of one. */
const MIN_INTERNATIONAL = 11;

/**
 * The forms of a number as it is written, closest first: its digits, with a country code without prefix and trunk zero; then
 * those that remain within its country. `+49 (0)30 1234567`: 49301234567, 301234567; `030 1234567`: 0301234567, 301234567.
 */
export function phoneForms(written: string, hasPlus: boolean): readonly string[] {
  const all = written.replace(/\D+/g, '');
  if (all.length > 17) return [all.replace(/^00/, '')];
  const isInternational = hasPlus || all.startsWith('00');
  const digits = isInternational ? written.replace('(0)', '').replace(/\D+/g, '').replace(/^00/, '') : all;
  const hasCode = isInternational || (digits.length >= MIN_INTERNATIONAL && !digits.startsWith('0'));
  const national = (hasCode ? digits.replace(COUNTRY, '') : digits).replace(/^0+/, '');
  return national.length < MIN_NATIONAL ? [digits] : [digits, national];
}

/** The mailbox of an address: without its tag, and at Gmail, which ignores them, without dots. */
export function mailboxOf(local: string, host: string): string {
  const bare = local.replace(/(?<=.)\+.*$/, '');
  return /^(?:gmail|googlemail)\.com$/.test(host) ? `${bare.replaceAll('.', '')}@gmail.com` : `${bare}@${host}`;
}

/** A host in its own letters, folded, where it is written in Punycode. */
export function unicodeHost(host: string): string {
  return host.includes('xn--') ? fold(domainToUnicode(host)).text || host : host;
}

/** A host as the network knows it: in Punycode where it has other letters than ASCII. */
export function asciiHost(host: string): string {
  return domainToASCII(host) || host;
}

/** The forms of a value and of its host, closest first. `written`: its part of the text. */
export function formsOf(
  { kind, text, looser = [], host }: Value,
  written: string,
): { readonly texts: readonly string[]; readonly hosts: readonly string[] } {
  if (host === undefined) return { texts: [text, ...looser], hosts: [] };
  const shown = unicodeHost(host);
  const hosts = shown === host ? [host] : [host, shown];
  // Of a host in look-alikes or other letters, the folded one may be another.
  const ascii = NOT_ASCII.test(written)
    ? punycodeOf(kind === 'email' ? written.slice(written.lastIndexOf('@') + 1) : written)
    : undefined;
  if (ascii === undefined) return { texts: [text, ...looser], hosts };
  return { texts: [text.replace(host, ascii), text, ...looser], hosts: [ascii, ...hosts] };
}

const NOT_ASCII = /[^\0-\x7f]/;

function punycodeOf(written: string): string | undefined {
  const url = `http://${written}`;
  const host = URL.canParse(url) ? new URL(url).hostname.replace(/^www\./, '') : '';
  return host.includes('xn--') ? host : undefined;
}

/** Fewer letters come together by chance. */
export const MIN_LETTERS = 8;

/** The letters and digits of a value, as they remain where it is split over arguments. */
export function lettersOf(text: string): string {
  return text.replace(/[^\p{L}\p{N}]+/gu, '');
}
