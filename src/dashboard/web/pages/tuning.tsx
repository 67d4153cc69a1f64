import { useEffect, useState } from 'preact/hooks';
import type { OverlayPreview, OverlayState, Role, ServerSetting } from '../../ports.js';
import { callApi } from '../call-api.js';
import { channelWords, counted, labelWords, localTimeShort, score } from '../format.js';
import { useAction, useFields, useLoad, useRuleTitles } from '../hooks.js';
import { Button, Failure, Loaded, Moment, Notice, PageHead, Panel, Submit, VerdictBadge } from '../parts/basics.js';
import { Choice, TextArea, TextField } from '../parts/fields.js';
import { Table } from '../parts/table.js';

const ALLOWED_DAYS = 90;

interface TuningProps {
  readonly role: Role;
  /** Request of another page: the id of a record to `allow`, or a `threshold`. */
  readonly query: URLSearchParams;
}

/** The account's overlay: the one in force, a draft with what it would change, the history. */
export function Tuning({ role, query }: TuningProps) {
  const overlay = useLoad<OverlayState>('/overlay');
  const { again } = overlay;
  // Not the editor's own: a new version begins a new editor.
  const [applied, setApplied] = useState(false);
  return (
    <>
      <PageHead
        title="Tuning"
        lead="Where the rules and the model block in this account, and which texts are allowed. Each version is kept."
      />
      <Loaded of={overlay}>
        {(state) => (
          <>
            <InForce state={state} />
            {role === 'viewer' ? (
              <p class="hint">Only an analyst or owner can try other settings.</p>
            ) : (
              <Editor
                key={`${state.versions[0]?.number ?? 0} ${query.toString()}`}
                state={state}
                owner={role === 'owner'}
                query={query}
                applied={applied}
                onApplied={setApplied}
                again={again}
              />
            )}
            <History
              state={state}
              owner={role === 'owner'}
              again={() => {
                setApplied(false);
                again();
              }}
            />
          </>
        )}
      </Loaded>
    </>
  );
}

function pointWords({ mlVersion, operatingPoint, mlThreshold, mlThresholds }: ServerSetting): string {
  if (mlVersion === 'off' || mlVersion === 'unavailable') return 'no model runs';
  const others = (Object.keys(mlThresholds) as (keyof typeof mlThresholds)[])
    .filter((channel) => mlThresholds[channel] !== mlThreshold)
    .map((channel) => `, ${channelWords[channel]} from ${score(mlThresholds[channel])}`);
  const point = operatingPoint === null ? '' : ` (${operatingPoint})`;
  return `the model blocks from ${score(mlThreshold)}${point}${others.join('')}`;
}

function InForce({ state: { server, versions } }: { state: OverlayState }) {
  const [newest] = versions;
  const isOwn = newest !== undefined && newest.source.trim() !== '';
  return (
    <Panel title="In force">
      <p>
        {isOwn ? (
          <>
            <strong>Version {newest.number}</strong> of this account, applied by {newest.actor} on{' '}
            <Moment time={newest.createdAt} />
            {newest.note === '' ? '' : `: ${newest.note}`}.
          </>
        ) : (
          <strong>The server’s own setting.</strong>
        )}
      </p>
      <p class="hint">
        The server: mode {server.mode}, the rules block from {score(server.rulesThreshold)}, {pointWords(server)}. Rules{' '}
        <code>{server.rulesVersion}</code>.
      </p>
    </Panel>
  );
}

function inDays(days: number): string {
  return new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
}

interface EditorProps {
  readonly state: OverlayState;
  readonly owner: boolean;
  readonly query: URLSearchParams;
  /** Whether the version in force was applied here just now, and nothing changed since. */
  readonly applied: boolean;
  readonly onApplied: (applied: boolean) => void;
  readonly again: () => void;
}

function Editor({ state: { server, versions }, owner, query, applied, onApplied, again }: EditorProps) {
  const [newest] = versions;
  const [source, setSource] = useState(newest?.source ?? '');
  const { values, field } = useFields({ note: '', threshold: '', expires: inDays(ALLOWED_DAYS) });
  const [shown, setShown] = useState<{ readonly of: string; readonly preview: OverlayPreview }>();
  const action = useAction();
  const allowed = query.get('allow');

  const change = (made: string): void => {
    onApplied(false);
    setSource(made);
  };
  const draft = async (edit: object): Promise<string> => {
    const { source: made } = await callApi<{ readonly source: string }>('POST', '/overlay/draft', { source, ...edit });
    change(made);
    return made;
  };
  const preview = async (of: string): Promise<void> => {
    setShown({ of, preview: await callApi<OverlayPreview>('POST', '/overlay/preview', { source: of }) });
  };
  const edit = (wanted: object): void => action.run(async () => preview(await draft(wanted)));
  const onEdit = (wanted: () => object) => action.onSubmit(async () => preview(await draft(wanted())));
  useEffect(() => {
    const wanted = query.get('threshold');
    if (wanted !== null) edit({ threshold: Number(wanted) });
  }, []);
  const apply = action.onSubmit(async () => {
    await callApi('POST', '/overlay', { source, note: values.note, replaces: newest?.number ?? 0 });
    onApplied(true);
    if (query.toString() !== '') location.hash = '#/tuning';
    again();
  });
  return (
    <Panel title="Change it">
      {allowed === null ? null : (
        <form class="row" onSubmit={onEdit(() => ({ allow: { id: allowed, expires: values.expires } }))}>
          <TextField
            label="Allow the text found in this record until"
            type="text"
            {...field('expires')}
            hint={`Record ${allowed}. A day, YYYY-MM-DD, in UTC.`}
            required
          />
          <Submit class="primary" action={action}>
            Add to the draft
          </Submit>
        </form>
      )}
      <div>
        {server.operatingPoints.length === 0 ? null : (
          <Choice
            label="The model blocks at"
            value={/^operating_point:\s*["']?([\w-]+)/m.exec(source)?.[1] ?? ''}
            onValue={(point) => edit({ operatingPoint: point === '' ? null : point })}
            options={{
              '': `the server’s setting${server.operatingPoint === null ? '' : `, ${server.operatingPoint}`}`,
              ...Object.fromEntries(server.operatingPoints.map((point) => [point, point])),
            }}
          />
        )}
        <form class="row" onSubmit={onEdit(() => ({ threshold: Number(values.threshold) }))}>
          <TextField
            label="The rules block from"
            placeholder={score(server.rulesThreshold)}
            {...field('threshold')}
            required
          />
          <Submit action={action}>Set</Submit>
        </form>
      </div>
      <form onSubmit={apply}>
        <TextArea
          label="Overlay"
          hint="YAML, as portcullis tune writes it. Empty: the server’s own setting. Thresholds, rules, and texts that are allowed."
          rows={10}
          isCode
          value={source}
          onValue={change}
        />
        <div class="actions">
          <Button disabled={action.busy} onClick={() => action.run(() => preview(source))}>
            {action.busy ? 'One moment …' : 'Preview'}
          </Button>
        </div>
        <Failure error={action.error} />
        {shown === undefined ? null : shown.of === source ? (
          <Preview preview={shown.preview} />
        ) : (
          <p class="hint">The draft was changed after the preview.</p>
        )}
        {owner ? (
          <>
            <TextField label="Note" {...field('note')} hint="Why: it stands in the history." />
            <button type="submit" class="primary" disabled={action.busy || source === (newest?.source ?? '')}>
              Apply
            </button>
          </>
        ) : (
          <p class="hint">An owner can apply it.</p>
        )}
        {applied ? (
          <Notice kind="good">Applied. Calls within the next second are the first to be decided by it.</Notice>
        ) : null}
      </form>
    </Panel>
  );
}

function Preview({ preview }: { preview: OverlayPreview }) {
  const titleOf = useRuleTitles();
  const { screened, unread, blocks, marks, changed, moreChanged } = preview;
  const aDay = (value: number): string => (marks.days === 0 ? '0' : (value / marks.days).toFixed(1));
  const words = ({ verdict, rule }: { readonly verdict: 'allow' | 'block'; readonly rule: string }) => (
    <>
      <VerdictBadge verdict={verdict} /> {rule === 'none' ? '' : titleOf(rule)}
    </>
  );
  return (
    <section class="preview" aria-label="Preview" role="status">
      <p>
        Of {counted(screened, 'recorded call', 'recorded calls')}, {blocks.now} {blocks.now === 1 ? 'is' : 'are'}{' '}
        blocked now and <strong>{blocks.draft}</strong> with this draft.
        {unread === 0
          ? ''
          : ` ${counted(unread, 'call was', 'calls were')} not read: too much text, or not kept whole.`}
      </p>
      {marks.benign + marks.attacks === 0 ? null : (
        <p>
          With your marks: {aDay(marks.falsePositives.now)} false positives a day now,{' '}
          <strong>{aDay(marks.falsePositives.draft)}</strong> with this draft; {marks.missed.now} of{' '}
          {counted(marks.attacks, 'marked attack', 'marked attacks')} allowed now, <strong>{marks.missed.draft}</strong>{' '}
          with this draft.
        </p>
      )}
      {changed.length === 0 ? (
        <p class="hint">No verdict changes.</p>
      ) : (
        <>
          <Table columns={['Call', 'Now', 'With this draft', 'Mark']} class="compare" label="Verdicts that change">
            {changed.map((it) => (
              <tr key={it.id}>
                <th scope="row">
                  <a href={`#/evidence/${it.id}`}>{localTimeShort(Date.parse(it.time))}</a>
                </th>
                <td>{words(it.now)}</td>
                <td>{words(it.draft)}</td>
                <td>{it.label === null ? '–' : labelWords[it.label]}</td>
              </tr>
            ))}
          </Table>
          {moreChanged === 0 ? null : <p class="hint">And {counted(moreChanged, 'other', 'others')}.</p>}
        </>
      )}
    </section>
  );
}

function History({ state: { versions }, owner, again }: { state: OverlayState; owner: boolean; again: () => void }) {
  const action = useAction();
  const newest = versions[0]?.number ?? 0;
  const rollBack = (number: number, source: string): void =>
    action.run(async () => {
      await callApi('POST', '/overlay', { source, note: `back to version ${number}`, replaces: newest });
      again();
    });
  return (
    <Panel title="History">
      {versions.length === 0 ? <p class="hint">No version yet: the server’s own setting is in force.</p> : null}
      <Failure error={action.error} />
      <ul class="cards">
        {versions.map((version, index) => (
          <li key={version.number} class="card">
            <div>
              <p class="card-title">
                Version {version.number} {index === 0 ? <span class="badge">in force</span> : null}
              </p>
              <p class="hint">
                <Moment time={version.createdAt} /> · {version.actor}
                {version.note === '' ? '' : ` · ${version.note}`} · rules <code>{version.rulesVersion}</code>
              </p>
              <details>
                <summary>
                  Overlay <span class="unseen">of version {version.number}</span>
                </summary>
                <pre class="secret">
                  <code>{version.source.trim() === '' ? '# the server’s own setting' : version.source}</code>
                </pre>
              </details>
            </div>
            {owner && index > 0 ? (
              <Button disabled={action.busy} onClick={() => rollBack(version.number, version.source)}>
                Roll back to {version.number}
              </Button>
            ) : null}
          </li>
        ))}
      </ul>
    </Panel>
  );
}
