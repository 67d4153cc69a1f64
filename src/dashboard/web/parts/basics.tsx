import type { ComponentChildren, ComponentProps, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { localTime, utcTime } from '../format.js';
import type { Action, Load } from '../hooks.js';

type WithChildren = { readonly children: ComponentChildren };

export function PageHead({ title, lead, children }: { title: string; lead?: string; children?: ComponentChildren }) {
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

export function Panel({ title, children, aside }: WithChildren & { title: string; aside?: ComponentChildren }) {
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

/** Facts by name; one without content is left out. */
export function Facts({ of, isWide }: { of: Readonly<Record<string, ComponentChildren>>; isWide?: boolean }) {
  const known = Object.entries(of).filter(([, content]) => content !== undefined && content !== false);
  return (
    <dl class={isWide ? 'facts wide' : 'facts'}>
      {known.map(([name, content]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{content}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Button(props: ComponentProps<'button'>) {
  return <button type="button" {...props} />;
}

/** The button that sends a form; it waits while that is under way. */
export function Submit({ action, ...props }: ComponentProps<'button'> & { action: Action }) {
  return <button type="submit" disabled={action.busy} {...props} />;
}

/** Says that something failed, or went well. Read out as it appears. */
export function Notice({ kind, children }: WithChildren & { kind: 'error' | 'good' | 'note' }) {
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

/** Says why the last action failed; nothing where it didn't. */
export function Failure({ error }: { error: string | undefined }) {
  return error === undefined ? null : <Notice kind="error">{error}</Notice>;
}

/** Says that there is nothing yet, and the next step. */
export function Empty({ title, children }: WithChildren & { title: string }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

/** A moment in the reader's zone, with UTC on hover. */
export function Moment({ time }: { time: number }) {
  return (
    <time dateTime={new Date(time).toISOString()} title={utcTime(time)}>
      {localTime(time)}
    </time>
  );
}

/** Allow or block: by sign and word, not by colour alone. */
export function VerdictBadge({ verdict }: { verdict: 'allow' | 'block' }) {
  return (
    <span class={`badge ${verdict}`}>
      <span aria-hidden="true">{verdict === 'block' ? '■' : '○'}</span> {verdict}
    </span>
  );
}

/** While something loads, or why it didn't. */
export function Waiting({ error, again }: { error: string | undefined; again: () => void }) {
  if (error === undefined)
    return (
      <p class="waiting" role="status">
        Loading …
      </p>
    );
  return (
    <Notice kind="error">
      {error}{' '}
      <Button class="link" onClick={again}>
        Try again
      </Button>
    </Notice>
  );
}

/** Shows the loaded value; until then, that it loads or why it didn't. A value of another path isn't shown. */
export function Loaded<T>({ of, children }: { of: Load<T>; children: (value: T) => JSX.Element }) {
  const { value, error, stale, again } = of;
  return value === undefined || stale ? <Waiting error={error} again={again} /> : children(value);
}

interface AskProps extends WithChildren {
  /** Words of the two buttons. */
  readonly yes: string;
  readonly no: string;
  readonly isDanger?: boolean;
  readonly busy: boolean;
  readonly onYes: () => void;
  readonly onNo: () => void;
}

/** Asks before something is done. `children` say what it does. */
export function Ask({ yes, no, isDanger = false, busy, onYes, onNo, children }: AskProps) {
  return (
    <div class="ask">
      {children}
      <div class="actions">
        <Button class={isDanger ? 'danger' : 'primary'} disabled={busy} onClick={onYes}>
          {yes}
        </Button>
        <Button onClick={onNo}>{no}</Button>
      </div>
    </div>
  );
}

/** Copies a text; says that it did. */
export function CopyButton({ text, label }: { text: string; label: string }) {
  const [said, setSaid] = useState('');
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => setSaid('Copied'),
      () => setSaid('Select the text and copy it'),
    );
  };
  return (
    <>
      <Button onClick={copy}>{label}</Button>
      <span role="status" class="said">
        {said}
      </span>
    </>
  );
}

/** A text of some lines with a button that copies it. */
export function Copyable({ text, label }: { text: string; label: string }) {
  return (
    <>
      <pre class="secret">
        <code>{text}</code>
      </pre>
      <p class="actions">
        <CopyButton text={text} label={label} />
      </p>
    </>
  );
}

interface ShownOnceProps {
  readonly lead: ComponentChildren;
  readonly secret: string;
  readonly copyLabel: string;
  readonly doneLabel: string;
  readonly onDone: () => void;
  /** Additional text below the secret. */
  readonly children?: ComponentChildren;
}

/** A secret that no page shows again, to be copied. */
export function ShownOnce({ lead, secret, copyLabel, doneLabel, onDone, children }: ShownOnceProps) {
  return (
    <Notice kind="good">
      <p>{lead}</p>
      <p class="secret">
        <code>{secret}</code>
      </p>
      <p class="actions">
        <CopyButton text={secret} label={copyLabel} />
      </p>
      {children}
      <p class="actions">
        <Button onClick={onDone}>{doneLabel}</Button>
      </p>
    </Notice>
  );
}
