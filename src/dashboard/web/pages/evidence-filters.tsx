import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { KeyListing } from '../../ports.js';
import { Choice, TextField } from '../parts/field.js';
import { useLoad } from '../use-load.js';

const choices = [
  [
    'verdict',
    'Verdict',
    [
      ['block', 'block'],
      ['allow', 'allow'],
    ],
  ],
  [
    'decidedBy',
    'Decided by',
    [
      ['rules', 'rules'],
      ['ml', 'model'],
      ['ml-error-rules-fallback', 'rules, model failed'],
    ],
  ],
  [
    'routerLevel',
    'Router level',
    [
      ['rules', 'rules'],
      ['advanced', 'advanced'],
      ['deep', 'deep'],
    ],
  ],
  [
    'label',
    'Label',
    [
      ['false_alarm', 'false alarm'],
      ['missed_attack', 'missed attack'],
      ['none', 'not labelled'],
    ],
  ],
] as const;

/** Filters of the list; they take effect as they are set, words as they are sent. */
export function EvidenceFilters({ query }: { query: URLSearchParams }): JSX.Element {
  const keys = useLoad<{ readonly keys: readonly KeyListing[] }>('/keys').value?.keys ?? [];
  const [text, setText] = useState(query.get('text') ?? '');
  const [rule, setRule] = useState(query.get('rule') ?? '');
  const set = (changes: Readonly<Record<string, string>>): void => {
    const wanted = new URLSearchParams(query);
    for (const [name, value] of Object.entries(changes)) {
      if (value === '') wanted.delete(name);
      else wanted.set(name, value);
    }
    location.hash = `#/evidence?${wanted}`;
  };
  const clear = (): void => {
    setText('');
    setRule('');
    location.hash = '#/evidence';
  };
  const search = (event: Event): void => {
    event.preventDefault();
    set({ text: text.trim(), rule: rule.trim() });
  };
  const more = ['decidedBy', 'routerLevel', 'label', 'keyId', 'from', 'to'].filter((name) => query.has(name)).length;
  return (
    <form class="panel filters" onSubmit={search} aria-label="Filters">
      <div class="filter-row">
        <TextField
          label="Words in the text"
          placeholder="three letters or more"
          type="search"
          value={text}
          onValue={setText}
        />
        <TextField label="Rule" placeholder="override.ignore-previous" value={rule} onValue={setRule} />
        <Choice
          label="Verdict"
          value={query.get('verdict') ?? ''}
          onValue={(verdict) => set({ verdict })}
          options={[['', 'any'], ...choices[0][2]]}
        />
        <button type="submit" class="primary">
          Search
        </button>
        {query.toString() === '' ? null : (
          <button type="button" onClick={clear}>
            Clear
          </button>
        )}
      </div>
      <details open={more > 0}>
        <summary>More filters{more > 0 ? ` (${more})` : ''}</summary>
        <div class="filter-row">
          {choices.slice(1).map(([name, label, options]) => (
            <Choice
              key={name}
              label={label}
              value={query.get(name) ?? ''}
              onValue={(value) => set({ [name]: value })}
              options={[['', 'any'], ...options]}
            />
          ))}
          <Choice
            label="Key"
            value={query.get('keyId') ?? ''}
            onValue={(keyId) => set({ keyId })}
            options={[['', 'any'], ...keys.map((key) => [key.id, key.name] as const)]}
          />
          <TextField
            label="From"
            type="datetime-local"
            value={toLocal(query.get('from'))}
            onValue={(value) => set({ from: fromLocal(value) })}
          />
          <TextField
            label="Before"
            type="datetime-local"
            value={toLocal(query.get('to'))}
            onValue={(value) => set({ to: fromLocal(value) })}
          />
        </div>
      </details>
    </form>
  );
}

function fromLocal(value: string): string {
  const time = new Date(value).getTime();
  return Number.isNaN(time) ? '' : String(time);
}

function toLocal(time: string | null): string {
  if (time === null) return '';
  const moment = new Date(Number(time));
  if (Number.isNaN(moment.getTime())) return '';
  return new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
