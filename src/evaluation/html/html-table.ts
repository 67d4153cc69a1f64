import { escaped } from './markup.js';

/** A table that scrolls where it is too wide. `head` is escaped here; the cells of `rows` are HTML made of escaped parts. */
export const htmlTable = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  `<div class="scroll"><table><thead><tr>${head.map((cell) => `<th>${escaped(cell)}</th>`).join('')}</tr></thead><tbody>${rows
    .map((row) => `<tr>${row.map((cell) => `<td>${cell}</td>`).join('')}</tr>`)
    .join('\n')}</tbody></table></div>`;
