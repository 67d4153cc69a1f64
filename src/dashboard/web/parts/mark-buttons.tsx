import type { JSX } from 'preact';
import type { Label } from '../../ports.js';
import { labelWords, marksFor } from '../words.js';

interface MarkButtonsProps {
  readonly verdict: 'allow' | 'block';
  readonly label: Label | null;
  readonly busy: boolean;
  readonly mayMark: boolean;
  readonly onMark: (label: Label | null) => void;
}

/** Where an owner or analyst says whether a verdict was right; a viewer sees what was said. */
export function MarkButtons({ verdict, label, busy, mayMark, onMark }: MarkButtonsProps): JSX.Element | null {
  if (!mayMark) return label === null ? null : <p class="badge">⚑ {labelWords[label]}</p>;
  const { right, wrong } = marksFor(verdict);
  // A mark of the other verdict, from a record that was imported, can be taken off.
  const other = label !== null && label !== right && label !== wrong ? [label] : [];
  return (
    <fieldset class="judge actions">
      <legend>Was this verdict right?</legend>
      {[right, wrong, ...other].map((key) => (
        <button
          key={key}
          type="button"
          aria-pressed={label === key}
          disabled={busy}
          onClick={() => onMark(label === key ? null : key)}
        >
          {label === key ? '⚑ ' : ''}
          {key === right ? `Correct ${verdict}` : labelWords[key].replace(/^./, (it) => it.toUpperCase())}
        </button>
      ))}
      <span class="hint">
        {label === null
          ? 'Marks are exported with the records; eval and tune read them.'
          : 'Press it again to remove the mark.'}
      </span>
    </fieldset>
  );
}
