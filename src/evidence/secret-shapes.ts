const digitsOf = (text: string): string => text.replaceAll(/\D/g, '');

/** Luhn's check, as on payment cards. @see ISO/IEC 7812-1 */
export const isCardNumber = (text: string): boolean => {
  const digits = digitsOf(text);
  let sum = 0;
  for (let i = 0; i < digits.length; i += 1) {
    const digit = Number(digits[digits.length - 1 - i]);
    const doubled = i % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0 && !/^(\d)\1+$/.test(digits);
};

/** The check digits of an international bank account number. @see ISO 13616 */
export const isIban = (text: string): boolean => {
  const plain = text.replaceAll(' ', '');
  if (plain.length < 15 || plain.length > 34) return false;
  let rest = 0;
  for (const sign of plain.slice(4) + plain.slice(0, 4)) {
    const value = Number.parseInt(sign, 36);
    rest = (value > 9 ? rest * 100 + value : rest * 10 + value) % 97;
  }
  return rest === 1;
};

const northAmerican = /^\(?[2-9]\d{2}\)?[ .-]?[2-9]\d{2}[ .-]\d{4}$/;

/** A number that is dialled: 7 to 15 digits, written as one. Dates, versions and plain counts aren't. */
export const isPhoneNumber = (text: string): boolean => {
  const digits = digitsOf(text).length;
  if (digits < 7 || digits > 15) return false;
  if (text.startsWith('+') || text.startsWith('00')) return true;
  if (/^\(?0\d/.test(text)) return digits >= 8 && !/^\d{2}[./-]\d{2}[./-]\d{2,4}$/.test(text);
  return northAmerican.test(text);
};

/** A run with capitals, small letters and digits mixed as only chance does. */
export const looksRandom = (text: string): boolean => {
  if (!/\d/.test(text)) return false;
  if (/^[0-9a-f]+$/.test(text) || /^[0-9A-F]+$/.test(text)) return /[a-fA-F]/.test(text);
  if (!/[a-z]/.test(text) || !/[A-Z]/.test(text)) return false;
  const seen = new Map<string, number>();
  for (const sign of text) seen.set(sign, (seen.get(sign) ?? 0) + 1);
  let bits = 0;
  for (const count of seen.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits >= 3.7;
};
