import type { JSX } from 'preact';
import type { RulePart, VersionChange, VersionTotals } from '../../ports.js';
import { count, counted, localTimeShort, share } from '../format.js';

const mostRules = 12;

/** Blocks and false alarms before and after the last change of rules or model, whole and by rule. */
export function Change({ change }: { change: VersionChange | null }): JSX.Element {
  if (change === null)
    return (
      <p class="hint">
        Nothing to compare yet: one version of rules and model answered every call. After the next one, this shows what
        it blocked and what members marked, before and after.
      </p>
    );
  const { before, after, rules } = change;
  return (
    <>
      <p class="hint">
        {before.rulesVersion === after.rulesVersion ? 'Another model' : 'Other rules'}
        {before.rulesVersion !== after.rulesVersion && before.mlVersion !== after.mlVersion ? ' and another model' : ''}{' '}
        since {localTimeShort(after.firstAt)}. Shares are of all calls that each version answered.
      </p>
      <div class="scroll">
        <table class="compare">
          <thead>
            <tr>
              <th scope="col">
                <span class="unseen">What</span>
              </th>
              <th scope="col" class="number">
                Before
              </th>
              <th scope="col" class="number">
                After
              </th>
            </tr>
          </thead>
          <tbody>
            <Row name="Rules" cell={(it) => <code>{it.rulesVersion}</code>} {...change} />
            <Row name="Model" cell={(it) => <code>{it.mlVersion}</code>} {...change} />
            <Row name="Calls" cell={(it) => count(it.calls)} {...change} />
            <Row name="Blocked" cell={(it) => `${count(it.blocks)} · ${share(it.blocks, it.calls)}`} {...change} />
            <Row name="Marked false alarms" cell={(it) => count(it.falseAlarms)} {...change} />
            <Row name="Marked missed attacks" cell={(it) => count(it.missedAttacks)} {...change} />
          </tbody>
          <tbody>
            {rules.slice(0, mostRules).map(({ rule, before: old, after: now }) => (
              <tr key={rule}>
                <th scope="row">
                  <a href={`#/evidence?verdict=block&rule=${encodeURIComponent(rule)}`}>{rule}</a>
                </th>
                <Part part={old} of={before} />
                <Part part={now} of={after} />
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rules.length > mostRules ? (
        <p class="hint">{counted(rules.length - mostRules, 'rule', 'rules')} moved less.</p>
      ) : null}
    </>
  );
}

function Part({ part, of }: { part: RulePart; of: VersionTotals }): JSX.Element {
  return (
    <td class="number">
      {count(part.blocks)} · {share(part.blocks, of.calls)}
      {part.falseAlarms === 0 ? null : (
        <div class="hint">{counted(part.falseAlarms, 'false alarm', 'false alarms')}</div>
      )}
    </td>
  );
}

interface RowProps extends VersionChange {
  readonly name: string;
  readonly cell: (totals: VersionTotals) => JSX.Element | string;
}

function Row({ name, cell, before, after }: RowProps): JSX.Element {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td class="number">{cell(before)}</td>
      <td class="number">{cell(after)}</td>
    </tr>
  );
}
