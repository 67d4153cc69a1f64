import type { ComponentChildren } from 'preact';

/** The head of a column: its words alone, or with `number` for figures, or `unseen` for screen readers alone. */
export type Column = string | readonly [words: string, kind: 'number' | 'unseen'];

interface TableProps {
  readonly columns: readonly Column[];
  readonly children: ComponentChildren;
  readonly class?: string;
  /** Given where the table may be wider or longer than its place: it scrolls in a region of this name. */
  readonly label?: string;
  /** Scrolls after a few rows. */
  readonly isShort?: boolean;
}

export function Table({ columns, children, label, isShort = false, ...rest }: TableProps) {
  const table = (
    <table {...rest}>
      <thead>
        <tr>
          {columns.map((column) => {
            const [words, kind] = typeof column === 'string' ? [column] : column;
            return (
              <th key={words} scope="col" class={kind === 'number' ? kind : undefined}>
                {kind === 'unseen' ? <span class={kind}>{words}</span> : words}
              </th>
            );
          })}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
  if (label === undefined) return table;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class={isShort ? 'scroll short' : 'scroll'} aria-label={label} tabIndex={0}>
      {table}
    </section>
  );
}
