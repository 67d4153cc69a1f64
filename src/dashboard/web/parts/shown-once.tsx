import type { ComponentChildren, JSX } from 'preact';
import { Notice } from './basics.js';
import { CopyButton } from './copy-button.js';

interface ShownOnceProps {
  readonly lead: ComponentChildren;
  readonly secret: string;
  readonly copyLabel: string;
  readonly doneLabel: string;
  readonly onDone: () => void;
  /** What else is good to know, below the secret. */
  readonly children?: ComponentChildren;
}

/** A secret that no page shows again, to be copied. */
export function ShownOnce({ lead, secret, copyLabel, doneLabel, onDone, children }: ShownOnceProps): JSX.Element {
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
        <button type="button" onClick={onDone}>
          {doneLabel}
        </button>
      </p>
    </Notice>
  );
}
