import { useMemo, useState } from 'preact/hooks';
import type { RuleDetail, RuleListing } from '../../ports.js';
import { count, score } from '../format.js';
import { useLoad } from '../hooks.js';
import { Button, Copyable, Empty, Facts, Loaded, PageHead, Panel, Waiting } from '../parts/basics.js';
import { Choice, TextField } from '../parts/fields.js';
import { Excerpt } from '../parts/marked-text.js';
import { Table } from '../parts/table.js';

interface RulesResponse {
  readonly version: string;
  readonly rules: readonly RuleListing[];
}

const SEVERITIES = { '': 'any', critical: 'critical', high: 'high', medium: 'medium', low: 'low' };
const ORDERS = { blocks: 'most blocks', falsePositives: 'most false positives', id: 'id' };
/** Rows shown at first; all of them are a click away. */
const FIRST_ROWS = 50;

/** The rules in force, with what each did in this account. */
export function Rules() {
  const { value, error, again } = useLoad<RulesResponse>('/rules');
  const [words, setWords] = useState('');
  const [severity, setSeverity] = useState('');
  const [order, setOrder] = useState<string>('blocks');
  const [all, setAll] = useState(false);
  const found = useMemo(() => {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    const fitting = (value?.rules ?? []).filter((rule) => {
      const text = `${rule.id} ${rule.title} ${rule.tags.join(' ')} ${rule.languages.join(' ')}`.toLowerCase();
      return (severity === '' || rule.severity === severity) && wanted.every((word) => text.includes(word));
    });
    const by = order === 'blocks' || order === 'falsePositives' ? order : undefined;
    return fitting.sort((a, b) => (by === undefined ? 0 : b[by] - a[by]) || (a.id < b.id ? -1 : 1));
  }, [value, words, severity, order]);
  return (
    <>
      <PageHead
        title="Rules"
        lead={
          value === undefined ? 'The rules in force.' : `${count(value.rules.length)} rules, version ${value.version}.`
        }
      />
      {value === undefined ? (
        <Waiting error={error} again={again} />
      ) : (
        <>
          <form class="panel filter-row" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
            <TextField
              label="Words"
              type="search"
              placeholder="title, id, tag or language"
              value={words}
              onValue={setWords}
            />
            <Choice label="Severity" value={severity} onValue={setSeverity} options={SEVERITIES} />
            <Choice label="Order" value={order} onValue={setOrder} options={ORDERS} />
          </form>
          <p class="hint" role="status">
            {count(found.length)} of {count(value.rules.length)} rules
          </p>
          {found.length === 0 ? (
            <Empty title="No rule matches.">
              <p>Try fewer words.</p>
            </Empty>
          ) : (
            <RuleTable rules={all ? found : found.slice(0, FIRST_ROWS)} />
          )}
          {all || found.length <= FIRST_ROWS ? null : (
            <p class="actions paging">
              <Button onClick={() => setAll(true)}>Show all {count(found.length)}</Button>
            </p>
          )}
        </>
      )}
    </>
  );
}

function RuleTable({ rules }: { rules: readonly RuleListing[] }) {
  return (
    <Table
      columns={['Rule', 'Severity', ['Score', 'number'], ['Blocks', 'number'], ['False positives', 'number']]}
      class="rules"
    >
      {rules.map((rule) => (
        <tr key={rule.id}>
          <th scope="row">
            <a href={`#/rules/${encodeURIComponent(rule.id)}`}>{rule.title}</a>
            <div class="hint">
              <code>{rule.id}</code>
              {rule.status === 'stable' ? null : <span class="badge label">{rule.status}</span>}
            </div>
          </th>
          <td>
            <span class="badge">{rule.severity}</span>
          </td>
          <td class="number">{score(rule.score)}</td>
          <td class="number">{count(rule.blocks)}</td>
          <td class="number">{count(rule.falsePositives)}</td>
        </tr>
      ))}
    </Table>
  );
}

/** One rule: what it is for, what it did, examples, and how to switch it off. */
export function RulePage({ id }: { id: string }) {
  const detail = useLoad<{ readonly rule: RuleDetail }>(`/rules/${encodeURIComponent(id)}`);
  return (
    <>
      <nav class="actions back" aria-label="Rules">
        <a href="#/rules">← Rules</a>
      </nav>
      <PageHead title={detail.value?.rule.title ?? 'Rule'} lead={id} />
      <Loaded of={detail}>{({ rule }) => <RuleBody rule={rule} />}</Loaded>
    </>
  );
}

function RuleBody({ rule }: { rule: RuleDetail }) {
  const overlay = `rules:\n  ${rule.id}:\n    status: experimental\n`;
  const decided = `#/evidence?rule=${encodeURIComponent(rule.id)}`;
  return (
    <>
      <Panel title="About">
        <p>{rule.description}</p>
        <Facts
          of={{
            Severity: rule.severity,
            Status: rule.status,
            Score: score(rule.score),
            'Paranoia level': rule.paranoia,
            Version: rule.version,
            Languages: rule.languages.join(', ') || 'any',
            Tags: rule.tags.join(', ') || '–',
          }}
        />
      </Panel>
      <Panel title="In this account">
        <p>
          <strong>{count(rule.blocks)}</strong> blocks decided by this rule,{' '}
          <strong>{count(rule.falsePositives)}</strong> of them marked as false positives.
        </p>
        <p class="actions">
          <a class="button" href={decided}>
            Calls that it decided
          </a>
          <a class="button" href={`${decided}&label=false_alarm`}>
            Its false positives
          </a>
        </p>
        <details>
          <summary>Stop it from blocking</summary>
          <p class="hint">
            With this overlay (<code>serve --overlay FILE</code>) the rule is still reported, but no longer counts.
          </p>
          <Copyable text={overlay} label="Copy overlay" />
        </details>
      </Panel>
      <Examples title="Texts that it finds" texts={rule.examples.positive.map(({ text }) => text)} />
      <Examples
        title="Texts that it leaves alone"
        texts={rule.examples.negative.map(({ text }) => text)}
        why={rule.examples.negative.map(({ why }) => why)}
      />
      <Items title="Known false positives" items={rule.knownFalsePositives} />
      <Items title="References" items={rule.references} />
    </>
  );
}

function Items({ title, items }: { title: string; items: readonly string[] }) {
  if (items.length === 0) return null;
  return (
    <Panel title={title}>
      <ul>
        {items.map((it) => (
          <li key={it}>{it}</li>
        ))}
      </ul>
    </Panel>
  );
}

const MOST_EXAMPLES = 12;

function Examples({ title, texts, why = [] }: { title: string; texts: readonly string[]; why?: readonly string[] }) {
  if (texts.length === 0) return null;
  return (
    <Panel title={title}>
      <ul class="findings">
        {texts.slice(0, MOST_EXAMPLES).map((text, index) => (
          <li key={text}>
            <Excerpt text={text} />
            {why[index] === undefined ? null : <p class="hint">{why[index]}</p>}
          </li>
        ))}
      </ul>
    </Panel>
  );
}
