import type { ComponentChildren, JSX } from 'preact';
import { localTime, utcTime } from '../format.js';

type WithChildren = { readonly children: ComponentChildren };

/** The head of a page, with what can be done there. */
export function PageHead({
  title,
  lead,
  children,
}: {
  title: string;
  lead?: string;
  children?: ComponentChildren;
}): JSX.Element {
  return (
    <header class="page-head">
      <div>
        <h1 tabIndex={-1}>{title}</h1>
        {lead === undefined ? null : <p class="lead">{lead}</p>}
      </div>
      {children === undefined ? null : <div class="actions">{children}</div>}
    </header>
  );
}

/** A part of a page with a heading. */
export function Panel({
  title,
  children,
  aside,
}: WithChildren & { title: string; aside?: ComponentChildren }): JSX.Element {
  return (
    <section class="panel">
      <div class="panel-head">
        <h2>{title}</h2>
        {aside}
      </div>
      {children}
    </section>
  );
}

/** Says that something failed, or went well. Read out as it appears. */
export function Notice({ kind, children }: WithChildren & { kind: 'error' | 'good' | 'note' }): JSX.Element {
  const sign = { error: '!', good: '✓', note: 'i' }[kind];
  return (
    <div class={`notice ${kind}`} role={kind === 'error' ? 'alert' : 'status'}>
      <span class="sign" aria-hidden="true">
        {sign}
      </span>
      <div>{children}</div>
    </div>
  );
}

/** Where there is nothing yet: says so, and the next step. */
export function Empty({ title, children }: WithChildren & { title: string }): JSX.Element {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

/** A moment in the reader's zone, with UTC on hover. */
export function Moment({ time }: { time: number }): JSX.Element {
  return (
    <time dateTime={new Date(time).toISOString()} title={utcTime(time)}>
      {localTime(time)}
    </time>
  );
}

/** Allow or block: by sign and word, not by colour alone. */
export function VerdictBadge({ verdict }: { verdict: 'allow' | 'block' }): JSX.Element {
  return (
    <span class={`badge ${verdict}`}>
      <span aria-hidden="true">{verdict === 'block' ? '■' : '○'}</span> {verdict}
    </span>
  );
}

/** While something loads, or why it didn't. */
export function Waiting({ error, again }: { error: string | undefined; again: () => void }): JSX.Element {
  if (error === undefined)
    return (
      <p class="waiting" role="status">
        Loading …
      </p>
    );
  return (
    <Notice kind="error">
      {error}{' '}
      <button type="button" class="link" onClick={again}>
        Try again
      </button>
    </Notice>
  );
}
