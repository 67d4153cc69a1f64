import { useEffect, useRef, useState } from 'preact/hooks';
import type { OrderItem } from '../../../store/account-store.js';
import type { Billing, ListedOrder, OrderOutcome } from '../../billing/billing.js';
import type { AccountState, PlanListing } from '../../ports.js';
import { callApi } from '../call-api.js';
import { count, counted, localDay } from '../format.js';
import { useAction, useLoad } from '../hooks.js';
import { trialEnded } from '../parts/banner.js';
import { Button, Failure, Moment, Notice, PageHead, Panel, Waiting } from '../parts/basics.js';
import { TextField } from '../parts/fields.js';
import { Table } from '../parts/table.js';

interface PlanResponse {
  readonly account: AccountState;
  readonly usage: readonly { readonly month: string; readonly calls: number }[];
  readonly plans: readonly PlanListing[];
  readonly orders: readonly ListedOrder[];
  readonly onSale: readonly string[];
  readonly overagePackCalls: number;
  readonly payment: Billing['payment'];
  readonly now: number;
}

export function Plan({ owner, paid }: { owner: boolean; paid: boolean }) {
  const { value, error, again } = useLoad<PlanResponse>('/plan');
  const [packs, setPacks] = useState('1');
  const [said, setSaid] = useState<string>();
  const [asked, setAsked] = useState<OrderItem>();
  const action = useAction();
  const cancel = (id: string): void =>
    action.run(async () => {
      await callApi('POST', `/orders/${encodeURIComponent(id)}/cancel`, {});
      setSaid('The order is cancelled.');
      again();
    });
  const order = (purchase: OrderItem): void =>
    action.run(async () => {
      setAsked(undefined);
      const outcome = await callApi<OrderOutcome>('POST', '/orders', purchase);
      if (outcome.kind === 'redirect') location.assign(outcome.url);
      else setSaid('Ordered. The operator of this service has to approve it. Its state is listed under Orders.');
      again();
    });
  return (
    <>
      <PageHead
        title="Plan"
        lead={value === undefined ? 'Usage and plan.' : `You are on ${value.account.plan.title}.`}
      />
      {paid ? <Notice kind="good">Thank you. The change shows here once the payment is confirmed.</Notice> : null}
      {said === undefined ? null : <Notice kind="good">{said}</Notice>}
      <Failure error={action.error} />
      {value === undefined ? (
        <Waiting error={error} again={again} />
      ) : (
        <>
          {asked === undefined ? null : (
            <Confirm
              purchase={asked}
              payment={value.payment}
              busy={action.busy}
              onYes={() => order(asked)}
              onNo={() => setAsked(undefined)}
            />
          )}
          <Panel title="This month">
            <Month account={value.account} now={value.now} />
          </Panel>
          <div class="columns">
            <Panel title="Usage by month">
              <Usage usage={value.usage} />
            </Panel>
            <Panel title="Orders">
              <Orders orders={value.orders} owner={owner} onCancel={cancel} />
            </Panel>
          </div>
          <Panel title="Plans">
            <p class="hint">
              {value.payment === 'stripe'
                ? 'You pay with Stripe. The plan changes as soon as the payment is confirmed.'
                : 'An order waits until the operator of this service approves it. No payment is taken here.'}
            </p>
            <ul class="cards">
              {value.plans.map((plan) => (
                <li key={plan.id} class="card">
                  <div>
                    <p class="card-title">{plan.title}</p>
                    <p class="hint">
                      {count(plan.callsPerMonth)} calls{plan.trialDays === null ? '' : ` for ${plan.trialDays} days`}
                      {plan.trialDays === null ? ' a month' : ''}
                    </p>
                  </div>
                  {plan.id === value.account.plan.id ? (
                    <span class="badge">✓ yours</span>
                  ) : owner && value.onSale.includes(plan.id) ? (
                    <Button disabled={action.busy} onClick={() => setAsked({ kind: 'plan', plan: plan.id })}>
                      Change to {plan.title}
                    </Button>
                  ) : null}
                </li>
              ))}
            </ul>
          </Panel>
          {owner ? (
            <Panel title="Overage">
              <p class="hint">
                A pack is {count(value.overagePackCalls)} calls for when the month’s are used up. It does not expire.
                {trialEnded(value.account, value.now) ? ' It does not extend a trial: change to a plan first.' : ''}
              </p>
              <form
                class="row"
                onSubmit={(event) => {
                  event.preventDefault();
                  setAsked({ kind: 'overage', packs: Number(packs) });
                }}
              >
                <TextField label="Packs" type="number" min={1} max={100} value={packs} onValue={setPacks} required />
                <button type="submit" disabled={action.busy || trialEnded(value.account, value.now)}>
                  Buy overage
                </button>
              </form>
            </Panel>
          ) : null}
        </>
      )}
    </>
  );
}

function purchaseWords(purchase: OrderItem): string {
  return purchase.kind === 'plan' ? `Plan ${purchase.plan}` : counted(purchase.packs, 'overage pack', 'overage packs');
}

interface ConfirmProps {
  readonly purchase: OrderItem;
  readonly payment: PlanResponse['payment'];
  readonly busy: boolean;
  readonly onYes: () => void;
  readonly onNo: () => void;
}

/** Asks before an order is placed. It takes the focus: it appears above the button that was pressed. */
function Confirm({ purchase, payment, busy, onYes, onNo }: ConfirmProps) {
  const yes = useRef<HTMLButtonElement>(null);
  useEffect(() => yes.current?.focus(), [purchase]);
  return (
    <section class="panel ask" aria-label="Confirm the order">
      <p>
        Order: <strong>{purchaseWords(purchase)}</strong>.{' '}
        {payment === 'stripe'
          ? 'You pay on the next page.'
          : 'The operator has to approve it; you can cancel it until then.'}
      </p>
      <div class="actions">
        <button type="button" class="primary" ref={yes} disabled={busy} onClick={onYes}>
          Place the order
        </button>
        <Button onClick={onNo}>Do not order</Button>
      </div>
    </section>
  );
}

function Month({ account, now }: { account: AccountState; now: number }) {
  const { plan, usedThisMonth, overageLeft, trialEnds, monthEnds } = account;
  const ended = trialEnded(account, now);
  const used = Math.min(1, usedThisMonth / plan.callsPerMonth);
  return (
    <div class="scale">
      <p>
        <strong>{count(usedThisMonth)}</strong> of {count(plan.callsPerMonth)} calls used;{' '}
        {counted(overageLeft, 'overage call', 'overage calls')} left.{' '}
        {trialEnds === null
          ? `The next month begins on ${localDay(monthEnds)}.`
          : ended
            ? `The trial ended on ${localDay(trialEnds)}: calls are refused.`
            : `The trial ends on ${localDay(trialEnds)}.`}
      </p>
      <div class={used >= 1 || ended ? 'track over' : 'track'} aria-hidden="true">
        <span class="fill" style={{ width: `${100 * used}%` }} />
      </div>
    </div>
  );
}

function Usage({ usage }: { usage: PlanResponse['usage'] }) {
  if (usage.length === 0) return <p class="hint">No calls yet.</p>;
  return (
    <Table columns={['Month (UTC)', ['Calls', 'number']]}>
      {usage.map(({ month, calls }) => (
        <tr key={month}>
          <td>{month}</td>
          <td class="number">{count(calls)}</td>
        </tr>
      ))}
    </Table>
  );
}

interface OrdersProps {
  readonly orders: readonly ListedOrder[];
  readonly owner: boolean;
  readonly onCancel: (id: string) => void;
}

function Orders({ orders, owner, onCancel }: OrdersProps) {
  const states = { open: '… waiting for the operator', done: '✓ done', declined: '✕ declined or cancelled' } as const;
  if (orders.length === 0) return <p class="hint">None yet.</p>;
  return (
    <ul>
      {orders.map(({ id, purchase, time, state }) => (
        <li key={id}>
          {purchaseWords(purchase)}, <Moment time={time} />: {states[state]}{' '}
          {owner && state === 'open' ? (
            <Button class="link" onClick={() => onCancel(id)}>
              Cancel <span class="unseen">the order of {purchaseWords(purchase)}</span>
            </Button>
          ) : null}
        </li>
      ))}
    </ul>
  );
}
