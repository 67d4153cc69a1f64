import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

/** Copies a text; says that it did. */
export function CopyButton({ text, label }: { text: string; label: string }): JSX.Element {
  const [said, setSaid] = useState('');
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => setSaid('Copied'),
      () => setSaid('Select the text and copy it'),
    );
  };
  return (
    <>
      <button type="button" onClick={copy}>
        {label}
      </button>
      <span role="status" class="said">
        {said}
      </span>
    </>
  );
}
