// Writes src/engine/text/normalize/generated/*: the fold table and the table of confusables.
//
//   node scripts/generate/generate-text-tables.mjs path/to/confusables.json
//
// Source of the confusables: UTS #39 confusables.txt (Unicode 15.1) as packed in `confusable_homoglyphs/confusables.json`
// of the PyPI package confusable-homoglyphs 3.3.1 (MIT; the data itself: Unicode License v3).
// Source of the fold table: String.prototype.normalize and toLowerCase of the Node that runs this script.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { DROP, HAND, KEEP, NEWLINE, SPACE } from './text-tables/characters.mjs';
import { EXTRA, LATIN, NO_DISGUISE } from './text-tables/disguises.mjs';

const [source] = process.argv.slice(2);
if (source === undefined)
  throw new Error('usage: node scripts/generate/generate-text-tables.mjs path/to/confusables.json');
const sourceBytes = readFileSync(source);
const digest = createHash('sha256').update(sourceBytes).digest('hex');
const confusables = JSON.parse(sourceBytes.toString('utf8'));
const target = (name) =>
  fileURLToPath(new URL(`../../src/engine/text/normalize/generated/${name}.ts`, import.meta.url));

const special = new Map();
const VALUE = { DROP: 0xffff, SPACE: 0xfffe, NEWLINE: 0xfffd, MULTI: 0xfffc, JOIN: 0xfffb, MARK: 0xfffa };
for (const cp of DROP) special.set(cp, VALUE.DROP);
for (const cp of SPACE) special.set(cp, VALUE.SPACE);
for (const cp of NEWLINE) special.set(cp, VALUE.NEWLINE);

const STRIP = /[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u065f\u0670\u0640]/g;
const settle = (s) => s.normalize('NFKC').toLowerCase().normalize('NFD').replace(STRIP, '').normalize('NFC');
const byHand = (s) => [...s].map((c) => HAND[c] ?? c).join('');

/** What one code point folds to, whatever stands around it. */
function foldChar(c) {
  if (KEEP.has(c)) return c;
  if (HAND[c] !== undefined) return HAND[c];
  const lower = c.toLowerCase();
  if (HAND[lower] !== undefined) return HAND[lower];
  let out = byHand(settle(byHand(lower)));
  out = out.replace(/\p{White_Space}+/gu, ' ');
  return out === ' ' || out === '' ? c : out;
}

// --- confusables ---------------------------------------------------------------------------------------------
const ascii = (s) => (/^[a-z0-9]$/.test(s) ? s : undefined);
/** The ASCII letter or digit that UTS #39 calls confusable with the character; letters win over digits. */
function confusableWith(c) {
  const found = (confusables[c] ?? []).map((t) => t.c);
  const direct = found.map((t) => ascii(t.toLowerCase())).filter(Boolean);
  const folded = found
    .filter((t) => /\p{Script=Latin}/u.test(t))
    .map((t) => LATIN[t] ?? ascii(foldChar(t)))
    .filter(Boolean);
  const rn = found.includes('rn') ? ['m'] : [];
  const all = [...rn, ...direct, ...folded];
  return all.find((t) => /[a-z]/.test(t)) ?? all[0];
}
for (let cp = 0x80; cp < 0x10000; cp += 1) {
  const c = String.fromCharCode(cp);
  if (!/\p{Script=Latin}/u.test(c) || LATIN[c] !== undefined || ascii(foldChar(c)) !== undefined) continue;
  // ɯ, ɹ and the like are turned letters: the upside-down reading has them.
  if (/[ɐɔǝɟƃɥɾʞɹʇʌʍʎ]/.test(c)) continue;
  const found = confusableWith(c.toLowerCase()) ?? confusableWith(c);
  if (found !== undefined && /[a-z]/.test(found) && [...foldChar(c)].length === 1) LATIN[c] = found;
}
delete LATIN.ɯ;
delete LATIN.ɾ;

const bmp = [];
const astral = [];
for (let cp = 0x80; cp < 0x20000; cp += 1) {
  if (cp >= 0xd800 && cp <= 0xdfff) continue;
  const c = String.fromCodePoint(cp);
  if (!/\p{L}/u.test(c) || NO_DISGUISE.test(c) || special.has(cp)) continue;
  const lower = c.toLowerCase();
  if (lower !== c) continue;
  const upper = c.toUpperCase();
  const found = EXTRA[c] ?? confusableWith(c) ?? ([...upper].length === 1 ? confusableWith(upper) : undefined);
  if (found === undefined || foldChar(c) !== c) continue;
  (cp < 0x10000 ? bmp : astral).push([cp, found.charCodeAt(0)]);
  const up = upper.codePointAt(0);
  if (cp >= 0x10000 && up !== cp) astral.push([up, found.charCodeAt(0)]);
}
astral.sort((a, b) => a[0] - b[0]);

// --- fold table ----------------------------------------------------------------------------------------------
const single = [];
const multi = {};
const skip = (cp) => (cp >= 0x3400 && cp <= 0x9fff) || (cp >= 0xac00 && cp <= 0xf8ff) || special.has(cp);
for (let cp = 0x80; cp < 0x10000; cp += 1) {
  if (skip(cp)) continue;
  const c = String.fromCharCode(cp);
  const out = LATIN[c] ?? LATIN[c.toLowerCase()] ?? foldChar(c);
  if (out === c) continue;
  if (out.length === 1) single.push([cp, out.charCodeAt(0)]);
  else if (c.toLowerCase() === c || c === 'İ') multi[c] = out;
}

// Marks that stay: those that may join the letter before them, or change places with a neighbouring mark.
const pairs = [];
const joining = new Set();
for (let cp = 0x80; cp < 0x10000; cp += 1) {
  if (cp >= 0xac00 && cp <= 0xdfff) continue;
  const c = String.fromCharCode(cp);
  const parts = [...c.normalize('NFD')];
  if (parts.length < 2) continue;
  const last = parts.at(-1);
  const first = parts.slice(0, -1).join('').normalize('NFC');
  if ((first + last).normalize('NFC') !== c || first.length !== 1 || special.has(last.charCodeAt(0))) continue;
  pairs.push(first.charCodeAt(0), last.charCodeAt(0));
  joining.add(last.charCodeAt(0));
}
// Half-width voicing marks join as their full-width forms do.
for (let i = 0, n = pairs.length; i < n; i += 2) {
  if (pairs[i + 1] === 0x3099 || pairs[i + 1] === 0x309a) pairs.push(pairs[i], pairs[i + 1] + 0xff9e - 0x3099);
}
joining.add(0xff9e).add(0xff9f);
const marks = [];
for (let cp = 0x80; cp < 0x10000; cp += 1) {
  if (special.has(cp) || (cp >= 0xac00 && cp <= 0xdfff)) continue;
  const c = String.fromCharCode(cp);
  const ordered = `\u0345${c}`.normalize('NFD') !== `\u0345${c}` || `${c}\u0334`.normalize('NFD') !== `${c}\u0334`;
  if (/\p{M}/u.test(c) && ordered) marks.push([cp, VALUE.MARK]);
  else if (joining.has(cp) || (cp >= 0x1161 && cp <= 0x1175) || (cp >= 0x11a8 && cp <= 0x11c2))
    marks.push([cp, VALUE.JOIN]);
}
const markSet = new Set(marks.map(([cp]) => cp));
const table = [
  ...single.filter(([cp]) => !markSet.has(cp)),
  ...[...special].map(([cp, v]) => [cp, v]),
  ...marks,
  ...Object.keys(multi).map((c) => [c.charCodeAt(0), VALUE.MULTI]),
].sort((a, b) => a[0] - b[0]);

// --- writing ---------------------------------------------------------------------------------------------------
/** Runs `gap.length.target.step`, base 36: `length` code points after `gap` skipped ones map to target, target + step, ... */
function runs(list) {
  const out = [];
  let at = 0;
  for (let i = 0; i < list.length; ) {
    const [from, to] = list[i];
    let n = 1;
    const step = i + 1 < list.length && list[i + 1][0] === from + 1 && list[i + 1][1] === to + 1 ? 1 : 0;
    while (i + n < list.length && list[i + n][0] === from + n && list[i + n][1] === to + step * n) n += 1;
    out.push([from - at, n, to, step].map((v) => v.toString(36)).join('.'));
    at = from + n;
    i += n;
  }
  return out.join(' ');
}
const lines = (text, width = 110) =>
  (text.match(new RegExp(`.{1,${width}}(?: |$)|\\S+`, 'g')) ?? [])
    .map((l) => `  '${l}' +`)
    .join('\n')
    .replace(/ \+$/, '');
const escaped = (text) =>
  JSON.stringify(text).replace(/[^\x20-\x7e]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
/** Pieces separated by "|", as lines of about 110 characters. */
function wrapped(pieces) {
  const found = [''];
  for (const [i, piece] of pieces.entries()) {
    const text = escaped(i + 1 < pieces.length ? `${piece}|` : piece).slice(1, -1);
    if (found.at(-1).length + text.length > 110) found.push('');
    found[found.length - 1] += text;
  }
  return found.map((line) => `  "${line}"`).join(' +\n');
}
const header = (what) => `// Generated by scripts/generate/generate-text-tables.mjs. Do not edit.\n${what}`;

writeFileSync(
  target('fold-runs'),
  `${header(`// Fold of each code unit of the BMP (Unicode ${process.versions.unicode}, ICU ${process.versions.icu}): runs "gap.length.target.step" in base 36.
// Derived from the Unicode Character Database. Copyright (c) 1991-2025 Unicode, Inc. Unicode License v3,
// https://www.unicode.org/license.txt`)}
export const FOLD_RUNS: string =
${lines(runs(table))};
`,
);
writeFileSync(
  target('fold-multi'),
  `${header(`// Code units whose fold is longer than one unit (Unicode ${process.versions.unicode}): each followed by its fold, separated by "|".
// Derived from the Unicode Character Database. Copyright (c) 1991-2025 Unicode, Inc. Unicode License v3,
// https://www.unicode.org/license.txt`)}
export const FOLD_MULTI: string =
${wrapped(Object.entries(multi).map(([c, out]) => `${c}${out}`))};

/** Canonical compositions whose second part is a mark that stays: first, second, in turn (code units). */
export const FOLD_PAIRS: string = ${escaped(String.fromCharCode(...pairs))};
`,
);
writeFileSync(
  target('confusable-runs'),
  `${header(`// Letters of other scripts that look like an ASCII letter or digit, lower case: runs "gap.length.target.step" in base 36.
// Source: UTS #39 confusables.txt, Unicode 15.1, as packed in PyPI confusable-homoglyphs 3.3.1
// (confusables.json, sha256 ${digest}), and a short list in the script.
// Copyright (c) 1991-2023 Unicode, Inc. Unicode License v3, https://www.unicode.org/license.txt`)}
export const CONFUSABLE_RUNS: string =
${lines(runs(bmp))};

/** The same beyond the BMP. */
export const CONFUSABLE_ASTRAL_RUNS: string =
${lines(runs(astral))};
`,
);
console.log({
  fold: table.length,
  multi: Object.keys(multi).length,
  pairs: pairs.length / 2,
  marks: marks.length,
  bmp: bmp.length,
  astral: astral.length,
});
