import { useState } from 'preact/hooks';
import type { Webhook, WebhookDelivery, WebhookEvent } from '../../../store/operations-store.js';
import { callApi } from '../call-api.js';
import { counted } from '../format.js';
import { useAction, useLoad } from '../hooks.js';
import { Ask, Button, Failure, Loaded, Moment, Panel, ShownOnce, Submit } from '../parts/basics.js';
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

export function Webhooks() {
  const listed = useLoad<WebhooksResponse>('/webhooks', 15_000);
  return (
    <Panel title="Webhooks">
      <p class="hint">
        The service sends a signed message (Standard Webhooks) when something happens, and retries for 18 hours.
      </p>
      <Loaded of={listed}>
        {({ webhooks, events }) => (
          <>
            <ul class="cards">
              {webhooks.map((webhook) => (
                <WebhookCard key={webhook.id} webhook={webhook} again={listed.again} />
              ))}
            </ul>
            <Create events={events} again={listed.again} />
          </>
        )}
      </Loaded>
    </Panel>
  );
}

function WebhookCard({ webhook, again }: { webhook: Listed; again: () => void }) {
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
        <Button disabled={action.busy} onClick={() => act(() => callApi('POST', `${path}/test`, {}))}>
          Send a test <span class="unseen">to {webhook.url}</span>
        </Button>
        <Button class="danger" aria-expanded={asked} onClick={() => setAsked(!asked)}>
          Remove <span class="unseen">{webhook.url}</span>
        </Button>
      </div>
      {asked ? (
        <Ask
          yes="Remove it"
          no="Keep it"
          isDanger
          busy={action.busy}
          onYes={() => act(() => callApi('DELETE', path))}
          onNo={() => setAsked(false)}
        >
          <p>No more messages are sent, and its log is deleted.</p>
        </Ask>
      ) : null}
      <Failure error={action.error} />
    </li>
  );
}

function Create({ events, again }: { events: readonly WebhookEvent[]; again: () => void }) {
  const [url, setUrl] = useState('');
  const [wanted, setWanted] = useState<readonly WebhookEvent[]>(events);
  const [secret, setSecret] = useState<string>();
  const action = useAction();
  const create = action.onSubmit(async () => {
    setSecret((await callApi<{ readonly secret: string }>('POST', '/webhooks', { url, events: wanted })).secret);
    setUrl('');
    again();
  });
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
      <Submit action={action}>Add webhook</Submit>
      <Failure error={action.error} />
    </form>
  );
}
