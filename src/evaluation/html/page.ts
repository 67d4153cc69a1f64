import { hash } from 'node:crypto';
import { markedParts, type Span } from '../../engine/span.js';
import { visibleText } from '../../engine/text/visible-text.js';

const STYLE = `
:root{color-scheme:light dark;--back:#fff;--ink:#1c2128;--soft:#57606a;--line:#d0d7de;--card:#f6f8fa;--a:#0969da;--b:#cf222e;--c:#6639ba;--mark:#ffe38a;--mark-ink:#1c2128}
@media(prefers-color-scheme:dark){:root{--back:#0d1117;--ink:#e6edf3;--soft:#9ba5b0;--line:#30363d;--card:#161b22;--a:#58a6ff;--b:#ff7b72;--c:#bc8cff;--mark:#8a6d00;--mark-ink:#fff}}
*{box-sizing:border-box}body{margin:0 auto;max-width:1320px;padding:24px;background:var(--back);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
h1{font-size:26px;margin:0 0 4px}h2{font-size:19px;margin:36px 0 10px}p{margin:6px 0}.soft{color:var(--soft)}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(200px,1fr));gap:12px;margin:20px 0}.card{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:12px 16px}.card b{display:block;font-size:26px;line-height:1.25}
.plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(380px,100%),1fr));gap:14px}figure{margin:0;background:var(--card);border:1px solid var(--line);border-radius:8px;padding:8px}
svg{display:block;width:100%;height:auto}svg text{font-size:11px;fill:var(--soft)}svg .title{font-size:13px;font-weight:600;fill:var(--ink)}.grid{stroke:var(--line);fill:none}.threshold{stroke:var(--ink);stroke-width:1.5;stroke-dasharray:2 3;fill:none}.diagonal{stroke:var(--soft);stroke-dasharray:4 4;fill:none}.line{fill:none;stroke-width:2}.line.a{stroke:var(--a)}.line.b{stroke:var(--b)}.line.c{stroke:var(--c)}.bar.a,.dot.a{fill:var(--a)}.bar.b,.dot.b{fill:var(--b)}.bar.c,.dot.c{fill:var(--c)}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}th,td{padding:4px 10px;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}th:first-child,td:first-child{text-align:left}td small{color:var(--soft)}
details{border:1px solid var(--line);border-radius:8px;margin:6px 0;background:var(--card)}summary{cursor:pointer;padding:7px 12px;overflow-wrap:anywhere}pre{margin:0;padding:10px 14px;border-top:1px solid var(--line);white-space:pre-wrap;overflow-wrap:anywhere;font:13px/1.5 ui-monospace,monospace;max-height:420px;overflow:auto;direction:ltr;unicode-bidi:isolate}mark{background:var(--mark);color:var(--mark-ink);border-radius:3px}
input{font:inherit;color:inherit;background:var(--card);border:1px solid var(--line);border-radius:8px;padding:7px 12px;width:min(420px,100%)}[hidden]{display:none}
`;

// The page's only script: it shows the texts whose summary or content holds what was typed.
const SCRIPT = `const find=document.getElementById('find');find?.addEventListener('input',()=>{const wanted=find.value.toLowerCase();for(const one of document.querySelectorAll('details.text'))one.hidden=!one.textContent.toLowerCase().includes(wanted)});`;

/**
 * A self-contained page: no request leaves it. `body` is HTML made of escaped parts. The page's policy lets no
 * script run but its own, by its digest.
 */
export function htmlPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; script-src 'sha256-${hash('sha256', SCRIPT, 'base64')}'">
<title>${escaped(title)}</title><style>${STYLE}</style></head><body><main>
${body}
</main><script>${SCRIPT}</script></body></html>
`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Any text as HTML text or as a quoted attribute's value: nothing in it can become markup, be invisible or turn the page. */
export function escaped(text: string): string {
  return visibleText(text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? ''));
}

/** Characters of one text that a report shows at most; the omitted part of a longer one is marked. */
const MOST_SHOWN = 6_000;

/** A hostile text as HTML, with its spans marked. */
export function markedHtml(text: string, spans: readonly Span[]): string {
  let shown = 0;
  const pieces = markedParts(text, spans).map(({ start, end, isMarked }) => {
    const room = Math.max(0, isMarked ? MOST_SHOWN : MOST_SHOWN - shown);
    const part = text.slice(start, Math.min(end, start + room));
    shown += part.length;
    const left = end - start - part.length;
    const rest = left > 0 ? `<i>[${left} more characters]</i>` : '';
    return isMarked ? `<mark>${escaped(part)}${rest}</mark>` : escaped(part) + rest;
  });
  return pieces.join('');
}

/** Figures that stand out: a name, a value, and a line more. The parts are HTML made of escaped text. */
export function htmlCards(cards: readonly (readonly [name: string, value: string, more: string])[]): string {
  const card = ([name, value, more]: (typeof cards)[number]): string =>
    `<div class="card">${name}<b>${value}</b><span class="soft">${more}</span></div>`;
  return `<div class="cards">${cards.map(card).join('')}</div>`;
}

/** A table of plain text, its head first. */
export function textTable([head = [], ...rows]: readonly (readonly string[])[]): string {
  return htmlTable(
    head,
    rows.map((row) => row.map(escaped)),
  );
}

/** A table that scrolls where it is too wide. `head` is escaped here; the cells of `rows` are HTML made of escaped parts. */
export function htmlTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  // A region that scrolls must be reachable by keyboard.
  return `<div class="scroll" tabindex="0" role="group" aria-label="${escaped(head[0] || 'Figures')}"><table><thead><tr>${head.map((cell) => `<th>${escaped(cell)}</th>`).join('')}</tr></thead><tbody>${rows
    .map((row) => `<tr>${row.map((cell) => `<td>${cell}</td>`).join('')}</tr>`)
    .join('\n')}</tbody></table></div>`;
}
