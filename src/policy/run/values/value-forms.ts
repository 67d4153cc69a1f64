/** Forms of an address or number that lead to the same place. */
import { domainToASCII, domainToUnicode } from 'node:url';
import { fold } from '../../../engine/text/normalize/fold.js';
import type { Value, ValueKind } from '../run-state.js';

/** Country codes. @see ITU-T E.164, list of assigned codes */
const COUNTRY = /^(?:1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|\d{3})/;
/** Digits of a number within its country. */
const MIN_NATIONAL = 7;
/** More digits than a number has within its country: it begins with the code of one. */
const MIN_INTERNATIONAL = 11;
const MAX_INTERNATIONAL = 15;

/**
 * The digits of a number, with a country code without prefix and trunk zero, and those within its country where they are others.
 * `+49 (0)30 1234567`: 49301234567 and 301234567; `030 1234567`: 0301234567 and 301234567.
 */
export function phoneForms(
  written: string,
  hasPlus: boolean,
): { readonly number: string; readonly national: string | undefined } {
  const all = written.replace(/\D+/g, '');
  const isInternational = hasPlus || all.startsWith('00');
  const number = (isInternational ? written.replace('(0)', '').replace(/\D+/g, '') : all).replace(/^00/, '');
  const hasCode = isInternational || (number.length >= MIN_INTERNATIONAL && !number.startsWith('0'));
  const national = (hasCode ? number.replace(COUNTRY, '') : number).replace(/^0+/, '');
  const isPhone = number.length <= MAX_INTERNATIONAL && national.length >= MIN_NATIONAL;
  return { number, national: isPhone && national !== number ? national : undefined };
}

/** A host as the network knows it: in Punycode where it has other letters than ASCII. */
export function asciiHost(host: string): string {
  return domainToASCII(host) || host;
}

/** The forms of a value and of its host, closest first. */
export interface Forms {
  readonly texts: readonly string[];
  readonly hosts: readonly string[];
}

/** The forms of a value. `written`: its part of the text. */
export function formsOf({ kind, text, national, host }: Value, written: string): Forms {
  if (host === undefined) return { texts: national === undefined ? [text] : [text, national], hosts: [] };
  const hosts = [host];
  // Of a host in look-alikes or other letters, the folded one may be another.
  const ascii = NOT_ASCII.test(written) ? punycodeOf(kind, written) : undefined;
  if (ascii !== undefined) hosts.unshift(ascii);
  if (host.includes('xn--')) hosts.push(fold(domainToUnicode(host)).text);
  const texts = hosts.map((each) => text.replace(host, each));
  const mailbox = kind === 'email' ? mailboxOf(texts.at(-1) as string) : undefined;
  if (mailbox !== undefined) texts.push(mailbox);
  return { texts, hosts };
}

/** A mail address without its tag, and at Gmail, which ignores them, without dots; undefined where it has neither. */
function mailboxOf(address: string): string | undefined {
  const at = address.lastIndexOf('@');
  const tag = address.indexOf('+', 1);
  const isGmail = /@(?:gmail|googlemail)\.com$/.test(address);
  if (!isGmail && (tag < 0 || tag > at)) return undefined;
  const local = address.slice(0, tag > 0 && tag < at ? tag : at);
  return isGmail ? `${local.replaceAll('.', '')}@gmail.com` : local + address.slice(at);
}

const NOT_ASCII = /[^\0-\x7f]/;

function punycodeOf(kind: ValueKind, written: string): string | undefined {
  const url = `http://${kind === 'email' ? written.slice(written.lastIndexOf('@') + 1) : written}`;
  const host = URL.canParse(url) ? new URL(url).hostname.replace(/^www\./, '') : '';
  return host.includes('xn--') ? host : undefined;
}

/** Fewer letters come together by chance. */
export const MIN_LETTERS = 8;

/** The letters and digits of a value, as they remain where it is split over arguments. */
export function lettersOf(text: string): string {
  return text.replace(/[^\p{L}\p{N}]+/gu, '');
}
