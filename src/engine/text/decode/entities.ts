import type { Replacement } from '../replacement.js';

const ENTITY = /&(?:#(?:[xX]([0-9A-Fa-f]{1,7})|(\d{1,8}));?|([A-Za-z]{2,8}\d{0,2});)/g;

/** Names that stand for signs, spaces and letters of words; the rest hides nothing. */
const NAMES: ReadonlyMap<string, string> = new Map(
  (
    'amp & lt < gt > quot " apos \' num # dollar $ percnt % ast * plus + comma , period . sol / colon : semi ; equals = ' +
    'quest ? excl ! commat @ lsqb [ rsqb ] lbrack [ rbrack ] bsol \\ lowbar _ grave ` lcub { lbrace { rcub } rbrace } vert | ' +
    'verbar | lpar ( rpar ) hyphen - dash - ndash - mdash - lsquo \' rsquo \' ldquo " rdquo " laquo " raquo " hellip ... ' +
    'bull * middot · times x szlig ß aelig æ AElig Æ oslash ø Oslash Ø aring å ccedil ç Ccedil Ç ntilde ñ Ntilde Ñ ' +
    'auml ä Auml Ä ouml ö Ouml Ö uuml ü Uuml Ü eacute é Eacute É egrave è ecirc ê euml ë agrave à aacute á acirc â ' +
    'atilde ã iacute í igrave ì icirc î iuml ï oacute ó ograve ò ocirc ô otilde õ uacute ú ugrave ù ucirc û yacute ý'
  )
    .split(' ')
    .reduce<[string, string][]>((pairs, word, i, words) => {
      if (i % 2 === 0) pairs.push([word, words[i + 1] ?? '']);
      return pairs;
    }, [])
    .concat([
      ['nbsp', ' '],
      ['ensp', ' '],
      ['emsp', ' '],
      ['thinsp', ' '],
      ['Tab', '\t'],
      ['NewLine', '\n'],
      ['shy', ''],
      ['zwnj', ''],
      ['zwj', ''],
      ['lrm', ''],
      ['rlm', ''],
    ]),
);

/** Reads HTML character references, numeric ones also without their semicolon. */
export function decodeEntities(text: string): readonly Replacement[] {
  const found: Replacement[] = [];
  for (const match of text.matchAll(ENTITY)) {
    const [all, hex, decimal, name] = match;
    const character = name === undefined ? characterOf(hex, decimal) : NAMES.get(name);
    if (character === undefined) continue;
    const start = match.index;
    found.push({ start, end: start + all.length, text: character, transform: 'entities' });
  }
  return found;
}

function characterOf(hex: string | undefined, decimal: string | undefined): string | undefined {
  const codePoint = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
  if (codePoint > 0x10ffff || codePoint === 0 || (codePoint & 0xfffff800) === 0xd800) return undefined;
  return String.fromCodePoint(codePoint);
}
