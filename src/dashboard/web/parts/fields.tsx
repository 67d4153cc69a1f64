import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';

interface FieldProps {
  readonly label: string;
  readonly hint?: string;
  readonly children: (id: string, describedBy: string | undefined) => ComponentChildren;
}

/** A label, what it is for, and the control. */
export function Field({ label, hint, children }: FieldProps): JSX.Element {
  const id = useId();
  const hintId = `${id}-hint`;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(id, hint === undefined ? undefined : hintId)}
      {hint === undefined ? null : (
        <p class="hint" id={hintId}>
          {hint}
        </p>
      )}
    </div>
  );
}

interface TextFieldProps {
  readonly label: string;
  readonly hint?: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly type?: 'text' | 'email' | 'password' | 'number' | 'search' | 'datetime-local';
  readonly autoComplete?: string;
  readonly required?: boolean;
  readonly readOnly?: boolean;
  readonly disabled?: boolean;
  readonly placeholder?: string;
  readonly min?: number;
  readonly max?: number;
}

export function TextField({ label, hint, value, onValue, autoComplete, type, ...rest }: TextFieldProps): JSX.Element {
  return (
    <Field label={label} {...(hint === undefined ? {} : { hint })}>
      {(id, describedBy) => (
        <input
          id={id}
          // The element's types split by this word; all of ours take the same properties.
          type={(type ?? 'text') as 'text'}
          aria-describedby={describedBy}
          value={value}
          autocomplete={autoComplete ?? 'off'}
          onInput={(event) => onValue(event.currentTarget.value)}
          {...rest}
        />
      )}
    </Field>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly hint?: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
  /** Value and words. */
  readonly options: readonly (readonly [string, string])[];
  readonly disabled?: boolean;
}

export function Choice({ label, hint, value, onValue, options, disabled }: ChoiceProps): JSX.Element {
  return (
    <Field label={label} {...(hint === undefined ? {} : { hint })}>
      {(id, describedBy) => (
        <select
          id={id}
          aria-describedby={describedBy}
          value={value}
          disabled={disabled === true}
          onChange={(event) => onValue(event.currentTarget.value)}
        >
          {options.map(([option, words]) => (
            <option key={option} value={option}>
              {words}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
