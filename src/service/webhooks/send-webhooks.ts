import { createHmac } from 'node:crypto';
import { type ClientRequest, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP } from 'node:net';
import { createKeyedLimit } from '../../engine/limit.js';
import type { DueDelivery, WebhookStore } from '../../store/operations-store.js';
import { isPublicAddress, PrivateAddressError, publicLookup } from './public-address.js';

/** Time from each failed attempt to the next one, milliseconds: seven attempts over some 18 hours. */
export const RETRY_AFTER_MS: readonly number[] = [5_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000];

/** Time for one attempt, milliseconds. */
const ATTEMPT_MS = 10_000;
/** Another server may take a message whose attempt came to no end, milliseconds. */
const LEASE_MS = 60_000;
const ATTEMPTS_AT_ONCE = 32;
/** Of one account: receivers that let each attempt wait to its end don't hold up those of others. */
const ATTEMPTS_OF_ACCOUNT = 2;
const POLL_MS = 2_000;
/** Settled messages are kept for the delivery log so long, milliseconds. */
const KEPT_MS = 30 * 86_400_000;

interface Attempt {
  /** HTTP status; null where there was no response. */
  readonly status: number | null;
  readonly error: string | null;
}

/** Sends webhook messages and sends them again where that failed. Several servers share the work. */
export class WebhookSender {
  readonly #store: WebhookStore;
  readonly #allowPrivate: boolean;
  readonly #now: () => number;
  readonly #underWay = new Set<Promise<void>>();
  readonly #ofAccount = createKeyedLimit(ATTEMPTS_OF_ACCOUNT);
  #timer: NodeJS.Timeout | undefined;
  #filling: Promise<void> | undefined;
  #isClosed = false;
  #purged = 0;

  constructor(
    store: WebhookStore,
    { allowPrivate, now }: { readonly allowPrivate: boolean; readonly now: () => number },
  ) {
    this.#store = store;
    this.#allowPrivate = allowPrivate;
    this.#now = now;
  }

  start(): void {
    // Readiness reports a database that is down; the next round retries.
    const round = (): Promise<void> => this.#fill().then(() => this.#purge());
    this.#timer = setInterval(() => void round().catch(() => undefined), POLL_MS);
    this.#timer.unref();
  }

  /** Sends all that is due now. */
  async tick(): Promise<void> {
    await this.#fill();
    while (this.#underWay.size > 0) {
      await Promise.all(this.#underWay);
      await this.#fill();
    }
    await this.#purge();
  }

  /** Waits for the attempts in flight. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#filling?.catch(() => undefined);
    await Promise.all(this.#underWay);
  }

  /** Begins what is due, as far as there is room for it. */
  #fill(): Promise<void> {
    this.#filling ??= this.#beginDue().finally(() => {
      this.#filling = undefined;
    });
    return this.#filling;
  }

  async #beginDue(): Promise<void> {
    while (!this.#isClosed && this.#underWay.size < ATTEMPTS_AT_ONCE) {
      const due = await this.#store.take(LEASE_MS, this.#ofAccount.full);
      if (due === undefined) return;
      this.#begin(due);
    }
  }

  #begin(due: DueDelivery): void {
    const leave = this.#ofAccount.enter(due.accountId);
    const sending: Promise<void> = this.#send(due)
      // Readiness reports a database that is down; the message is due again after its lease.
      .catch(() => undefined)
      .finally(() => {
        this.#underWay.delete(sending);
        leave?.();
      });
    this.#underWay.add(sending);
    void sending.then(() => this.#fill()).catch(() => undefined);
  }

  async #send(due: DueDelivery): Promise<void> {
    const { status, error } = await attempt(due, this.#allowPrivate, this.#now());
    const delivered = status !== null && status >= 200 && status < 300;
    const wait = RETRY_AFTER_MS[due.attempts - 1];
    // A tenth more or less, so that messages that failed together don't come back together.
    const retryAt = wait === undefined ? null : this.#now() + Math.round(wait * (0.9 + Math.random() / 5));
    await this.#store.settle(due.id, { delivered, status, error: delivered ? null : error, retryAt });
  }

  async #purge(): Promise<void> {
    if (this.#now() - this.#purged <= 3_600_000) return;
    this.#purged = this.#now();
    await this.#store.purge(this.#now() - KEPT_MS);
  }
}

/** The headers of a message. @see https://www.standardwebhooks.com */
function signedHeaders(id: string, body: string, secret: string, at: number): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(at / 1000));
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return {
    'content-type': 'application/json',
    'user-agent': 'Portcullis-Webhooks',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  };
}

/** One attempt. Redirects aren't followed, and nothing of a response is kept but its status. */
function attempt({ id, url, body, secret }: DueDelivery, allowPrivate: boolean, at: number): Promise<Attempt> {
  return new Promise((resolve) => {
    const target = new URL(url);
    const host = target.hostname.replace(/^\[|\]$/g, '');
    if (!allowPrivate && isIP(host) !== 0 && !isPublicAddress(host)) {
      resolve({ status: null, error: new PrivateAddressError().message });
      return;
    }
    const headers = { ...signedHeaders(id, body, secret, at), 'content-length': String(Buffer.byteLength(body)) };
    const options = {
      ...{ method: 'POST', headers, agent: false, signal: AbortSignal.timeout(ATTEMPT_MS) },
      ...(allowPrivate ? {} : { lookup: publicLookup() }),
    } as const;
    const call: ClientRequest = (target.protocol === 'http:' ? requestHttp : requestHttps)(target, options);
    call.on('response', (response) => {
      const status = response.statusCode ?? null;
      response.destroy();
      resolve({ status, error: status !== null && status < 300 ? null : `the response was ${status}` });
    });
    call.on('error', (error: NodeJS.ErrnoException) => resolve({ status: null, error: errorWords(error) }));
    call.end(body);
  });
}

/** Describes a failure without revealing anything about the internal network. */
function errorWords(error: NodeJS.ErrnoException): string {
  if (error instanceof PrivateAddressError) return error.message;
  if (error.name === 'AbortError' || error.name === 'TimeoutError') return `no response within ${ATTEMPT_MS / 1000} s`;
  if (error.syscall?.startsWith('query') || error.code === 'ENOTFOUND' || error.code === 'EAI_AGAIN')
    return 'the name cannot be resolved';
  if (error.code === 'ECONNREFUSED') return 'the connection was refused';
  if (error.code?.startsWith('ERR_TLS') || error.code?.includes('CERT')) return `TLS failed (${error.code})`;
  return `the connection failed${error.code === undefined ? '' : ` (${error.code})`}`;
}
