import type { ComponentChildren, ComponentProps } from 'preact';
import { useId } from 'preact/hooks';

interface ControlProps {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly value: string;
  readonly onValue: (value: string) => void;
}

interface FieldProps extends Pick<ControlProps, 'label' | 'hint'> {
  readonly children: (id: string, describedBy: string | undefined) => ComponentChildren;
}

function Field({ label, hint, children }: FieldProps) {
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

interface TextFieldProps
  extends ControlProps,
    Pick<ComponentProps<'input'>, 'required' | 'readOnly' | 'disabled' | 'placeholder' | 'min' | 'max'> {
  readonly type?: 'text' | 'email' | 'password' | 'number' | 'search' | 'datetime-local';
  readonly autoComplete?: string;
}

export function TextField({ label, hint, value, onValue, autoComplete, type, ...rest }: TextFieldProps) {
  return (
    <Field label={label} hint={hint}>
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

interface TextAreaProps extends ControlProps {
  readonly rows: number;
  /** In a monospaced font, without spell checking. */
  readonly isCode?: boolean;
}

export function TextArea({ label, hint, value, onValue, rows, isCode = false }: TextAreaProps) {
  return (
    <Field label={label} hint={hint}>
      {(id, describedBy) => (
        <textarea
          id={id}
          aria-describedby={describedBy}
          class={isCode ? 'code' : undefined}
          rows={rows}
          spellcheck={isCode ? false : undefined}
          value={value}
          onInput={(event) => onValue(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface ChoiceProps extends ControlProps {
  /** Words by value. */
  readonly options: Readonly<Record<string, string>>;
  readonly disabled?: boolean;
}

export function Choice({ label, hint, value, onValue, options, disabled }: ChoiceProps) {
  return (
    <Field label={label} hint={hint}>
      {(id, describedBy) => (
        <select
          id={id}
          aria-describedby={describedBy}
          value={value}
          disabled={disabled === true}
          onChange={(event) => onValue(event.currentTarget.value)}
        >
          {Object.entries(options).map(([option, words]) => (
            <option key={option} value={option}>
              {words}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface SegmentsProps<T extends string> {
  readonly legend: string;
  readonly value: T;
  readonly onValue: (value: T) => void;
  /** Words by value. */
  readonly options: Readonly<Record<T, string>>;
}

/** A choice of a few, all of them in sight. */
export function Segments<T extends string>({ legend, value, onValue, options }: SegmentsProps<T>) {
  return (
    <fieldset class="segments">
      <legend class="unseen">{legend}</legend>
      {(Object.keys(options) as T[]).map((option) => (
        <button key={option} type="button" aria-pressed={value === option} onClick={() => onValue(option)}>
          {options[option]}
        </button>
      ))}
    </fieldset>
  );
}
