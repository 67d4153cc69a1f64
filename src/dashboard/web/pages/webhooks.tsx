import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Webhook, WebhookDelivery, WebhookEvent } from '../../../store/operations-store.js';
import { callApi } from '../call-api.js';
import { counted } from '../format.js';
import { useAction, useLoad } from '../hooks.js';
import { Moment, Notice, Panel, ShownOnce, Waiting } from '../parts/basics.js';
import { TextField } from '../parts/fields.js';

type Delivery = Omit<WebhookDelivery, 'webhookId' | 'body'>;
type Listed = Omit<Webhook, 'accountId'> & { readonly deliveries: readonly Delivery[] };

interface WebhooksResponse {
  readonly events: readonly WebhookEvent[];
  readonly webhooks: readonly Listed[];
}

const eventWords: Readonly<Record<WebhookEvent, string>> = {
  'quota.low': 'a tenth of the calls is left',
  'quota.exhausted': 'the calls are used up',
  'blocks.spike': 'many more blocks than usual',
  'model.failing': 'the model fails',
  'webhook.test': 'test',
};

/** Where this account is told of events, and what came of each message. */
export function Webhooks(): JSX.Element {
  const { value, error, again } = useLoad<WebhooksResponse>('/webhooks', 15_000);
  return (
    <Panel title="Webhooks">
      <p class="hint">
        The service sends a signed message (Standard Webhooks) when something happens, and tries again for 18 hours.
      </p>
      {value === undefined ? (
        <Waiting error={error} again={again} />
      ) : (
        <>
          <ul class="cards">
            {value.webhooks.map((webhook) => (
              <WebhookCard key={webhook.id} webhook={webhook} again={again} />
            ))}
          </ul>
          <Create events={value.events} again={again} />
        </>
      )}
    </Panel>
  );
}

function WebhookCard({ webhook, again }: { webhook: Listed; again: () => void }): JSX.Element {
  const [asked, setAsked] = useState(false);
  const action = useAction();
  const path = `/webhooks/${encodeURIComponent(webhook.id)}`;
  const act = (work: () => Promise<unknown>): void =>
    action.run(async () => {
      await work();
      again();
    });
  return (
    <li class="card">
      <div>
        <p class="card-title">{webhook.url}</p>
        <p class="hint">{webhook.events.map((event) => eventWords[event]).join('; ')}</p>
        <details>
          <summary>
            {counted(webhook.deliveries.length, 'message', 'messages')} <span class="unseen">to {webhook.url}</span>
          </summary>
          <ul>
            {webhook.deliveries.map((it) => (
              <li key={it.id}>
                <Moment time={it.createdAt} /> <code>{it.event}</code>: {it.status},{' '}
                {counted(it.attempts, 'attempt', 'attempts')}
                {it.lastStatus === null ? '' : `, HTTP ${it.lastStatus}`}
                {it.lastError === null ? '' : `, ${it.lastError}`}
              </li>
            ))}
          </ul>
        </details>
      </div>
      <div class="actions">
        <button type="button" disabled={action.busy} onClick={() => act(() => callApi('POST', `${path}/test`, {}))}>
          Send a test <span class="unseen">to {webhook.url}</span>
        </button>
        <button type="button" class="danger" aria-expanded={asked} onClick={() => setAsked(!asked)}>
          Remove <span class="unseen">{webhook.url}</span>
        </button>
      </div>
      {asked ? (
        <div class="ask">
          <p>No more messages are sent, and its log is deleted.</p>
          <div class="actions">
            <button type="button" class="danger" onClick={() => act(() => callApi('DELETE', path))}>
              Remove it
            </button>
            <button type="button" onClick={() => setAsked(false)}>
              Keep it
            </button>
          </div>
        </div>
      ) : null}
      {action.error === undefined ? null : <Notice kind="error">{action.error}</Notice>}
    </li>
  );
}

function Create({ events, again }: { events: readonly WebhookEvent[]; again: () => void }): JSX.Element {
  const [url, setUrl] = useState('');
  const [wanted, setWanted] = useState<readonly WebhookEvent[]>(events);
  const [secret, setSecret] = useState<string>();
  const action = useAction();
  const create = (event: Event): void => {
    event.preventDefault();
    action.run(async () => {
      setSecret((await callApi<{ readonly secret: string }>('POST', '/webhooks', { url, events: wanted })).secret);
      setUrl('');
      again();
    });
  };
  return (
    <form onSubmit={create}>
      <h3>Add a webhook</h3>
      {secret === undefined ? null : (
        <ShownOnce
          lead={<strong>Copy the signing secret now. It is shown only once.</strong>}
          secret={secret}
          copyLabel="Copy secret"
          doneLabel="I have copied it"
          onDone={() => setSecret(undefined)}
        />
      )}
      <TextField label="URL" value={url} onValue={setUrl} required placeholder="https://" />
      <fieldset>
        <legend>Tell when</legend>
        {events.map((event) => (
          <label key={event} class="choice">
            <input
              type="checkbox"
              checked={wanted.includes(event)}
              onChange={({ currentTarget: { checked } }) =>
                setWanted(checked ? [...wanted, event] : wanted.filter((it) => it !== event))
              }
            />{' '}
            {eventWords[event]}
          </label>
        ))}
      </fieldset>
      <button type="submit" disabled={action.busy}>
        Add webhook
      </button>
      {action.error === undefined ? null : <Notice kind="error">{action.error}</Notice>}
    </form>
  );
}
