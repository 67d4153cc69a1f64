const INVISIBLE =
  /display:none|visibility:(?:hidden|collapse)|font-size:(?:0(?![.]?0*[1-9])|0?\.\d|1px)|opacity:(?:0(?![.]?0*[1-9])|0?\.0)|(?:left|right|top|bottom|text-indent|margin-left|margin-top):-\d{3,}|(?:^|;)(?:max-)?(?:width|height):[01](?:px|em)?(?:;|$)|clip:rect\((?:0|1px)|clip-path:inset\((?:50|100)%|scale\(0(?:,0)?\)|(?:^|;)color:transparent|mso-hide:all/;

const COLOR = /(?:^|;)color:([^;!]+)/;
const BACKGROUND = /(?:^|;)background(?:-color)?:([^;!]+)/;
const WHITE = /^(?:#fff(?:fff)?|white|rgba?\(255,255,255(?:,[\d.]+)?\)|#fefefe|#fdfdfd|snow|ivory)$/;

/** True when a `style` attribute hides its element, or writes in the colour of the ground. */
export function isInvisibleStyle(value: string): boolean {
  const style = value.toLowerCase().replace(/\s+|!important/g, '');
  if (INVISIBLE.test(style)) return true;
  const color = COLOR.exec(style)?.[1];
  if (color === undefined) return false;
  const background = BACKGROUND.exec(style)?.[1];
  return background === undefined ? WHITE.test(color) : background === color;
}

const RULE = /(?<=^|[{}])([^{}]*)\{([^{}]*)\}/g;
const SIMPLE = /([.#])([\w-]{1,80})\s*$/;

/** Adds the classes (`.name`) and ids (`#name`) that a style sheet hides. */
export function hiddenSelectors(sheet: string, found: Set<string>): void {
  for (const [, selectors = '', body = ''] of sheet.matchAll(RULE)) {
    if (!isInvisibleStyle(body)) continue;
    for (const selector of selectors.split(',')) {
      const match = SIMPLE.exec(selector);
      if (match !== null) found.add(`${match[1]}${match[2]}`);
    }
  }
}
