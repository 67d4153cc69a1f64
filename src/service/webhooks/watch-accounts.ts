import type { Webhook, WebhookEvent } from '../../store/operations-store.js';
import { formatMonth } from '../../store/plans.js';
import type { Store } from '../../store/store.js';

const HOUR = 3_600_000;
const WATCH_MS = 60_000;
/** `quota.low`: so much of the plan's calls are left. */
const LOW_SHARE = 0.1;
/** `blocks.spike`: at least this many blocks within two hours, and this many times those of the same time on the day before. */
const LEAST_BLOCKS = 20;
const SPIKE_FACTOR = 4;
/** `model.failing`: at least this many calls within two hours, and this share of failures among them. */
const LEAST_ERRORS = 5;
const ERROR_SHARE = 0.05;
/** A spike or a failing model is reported again after six hours. */
const againMs = 6 * HOUR;

type WatchedStore = Pick<Store, 'accounts' | 'usage' | 'evidence' | 'webhooks' | 'orders' | 'plans'>;

interface Occurrence {
  readonly event: WebhookEvent;
  readonly once: string;
  readonly facts: Readonly<Record<string, string | number>>;
}

/** Looks after accounts that have webhooks. */
export interface AccountWatch {
  tick(): Promise<void>;
  start(): void;
  close(): void;
}

/** Sends webhooks for low or exhausted quotas, spikes of blocks and a failing model. Each event is reported once, by whichever server sees it first. */
export function watchAccounts(store: WatchedStore, now: () => number): AccountWatch {
  let timer: NodeJS.Timeout | undefined;

  async function tick(): Promise<void> {
    const byAccount = new Map<string, Webhook[]>();
    for (const webhook of await store.webhooks.all())
      byAccount.set(webhook.accountId, [...(byAccount.get(webhook.accountId) ?? []), webhook]);
    for (const [accountId, webhooks] of byAccount) {
      const occurred = [...(await quota(store, accountId, now())), ...(await activity(store, accountId, now()))];
      for (const { event, once, facts } of occurred) {
        for (const { id, events } of webhooks) {
          if (!events.includes(event) || !(await store.orders.seeEvent('webhook', `${id} ${event} ${once}`))) continue;
          await store.webhooks.send(id, event, webhookBody(event, accountId, facts, now()));
        }
      }
    }
  }

  return {
    tick,
    start() {
      timer = setInterval(() => void tick().catch(() => undefined), WATCH_MS);
      timer.unref();
    },
    close: () => clearInterval(timer),
  };
}

/** The body of a message: it never holds a screened text. */
export function webhookBody(
  type: WebhookEvent,
  accountId: string,
  facts: Readonly<Record<string, string | number>>,
  at: number,
): string {
  return JSON.stringify({ type, timestamp: new Date(at).toISOString(), data: { account_id: accountId, ...facts } });
}

async function quota(store: WatchedStore, accountId: string, at: number): Promise<readonly Occurrence[]> {
  const account = await store.accounts.get(accountId);
  if (account === undefined) return [];
  const { remaining, limit } = await store.usage.quota(accountId, at);
  const once = store.plans.get(account.plan).trialDays === null ? formatMonth(at) : 'trial';
  const facts = { plan: account.plan, remaining, monthly_calls: limit };
  if (remaining === 0) return [{ event: 'quota.exhausted', once, facts }];
  return remaining <= LOW_SHARE * limit ? [{ event: 'quota.low', once, facts }] : [];
}

async function activity(store: WatchedStore, accountId: string, at: number): Promise<readonly Occurrence[]> {
  const thisHour = Math.floor(at / HOUR) * HOUR;
  const recent = thisHour - HOUR;
  const counts = await store.evidence.counts(accountId, recent - 24 * HOUR, thisHour + HOUR, 'hour');
  const sum = (of: 'calls' | 'blocks' | 'modelErrors', isRecent: boolean): number =>
    counts.reduce((total, it) => total + (it.at >= recent === isRecent ? it[of] : 0), 0);
  const [calls, blocks, errors] = [sum('calls', true), sum('blocks', true), sum('modelErrors', true)];
  // Two hours of twenty-four.
  const usual = sum('blocks', false) / 12;
  const once = String(Math.floor(at / againMs));
  const occurred: Occurrence[] = [];
  if (blocks >= LEAST_BLOCKS && blocks >= SPIKE_FACTOR * usual)
    occurred.push({ event: 'blocks.spike', once, facts: { calls, blocks, usual_blocks: Math.round(usual) } });
  if (errors >= LEAST_ERRORS && errors >= ERROR_SHARE * calls)
    occurred.push({ event: 'model.failing', once, facts: { calls, model_errors: errors } });
  return occurred;
}
