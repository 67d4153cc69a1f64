import { createHmac } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { isPublicAddress, publicLookup, urlProblem } from '../../src/service/webhooks/public-address.js';
import { RETRY_AFTER_MS, WebhookSender } from '../../src/service/webhooks/send-webhooks.js';
import { watchAccounts } from '../../src/service/webhooks/watch-accounts.js';
import type { Store } from '../../src/store/store.js';
import { databases, type TestDatabase } from '../store/databases.js';

describe('webhooks go to the public Internet only', () => {
  it.each([
    ...['127.0.0.1', '10.1.2.3', '172.16.0.1', '172.31.255.255', '192.168.1.1', '169.254.169.254', '100.64.0.1'],
    ...['0.0.0.0', '224.0.0.1', '255.255.255.255', '198.18.0.1', '::1', '::', 'fe80::1', 'fd00::1', 'ff02::1'],
    ...['::ffff:127.0.0.1', '::ffff:8.8.8.8', '64:ff9b::7f00:1', '2002:7f00:1::', '2001:0:7f00:1::', 'localhost', ''],
  ])('not to %s', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  it.each(['8.8.8.8', '172.32.0.1', '172.15.255.255', '2606:4700:4700::1111'])('to %s', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  it.each([
    ...['http://example.com/', 'ftp://example.com/', 'file:///etc/passwd', 'javascript:alert(1)', 'not a url'],
    ...['https://user:secret@example.com/', 'https://localhost/', 'https://a.internal/', 'https://printer.local/'],
    ...['https://127.0.0.1/', 'https://2130706433/', 'https://0x7f.1/', 'https://[::1]/', 'https://[::ffff:10.0.0.1]/'],
  ])('refuses the URL %s', (url) => {
    expect(urlProblem(url, false)).toBeTypeOf('string');
  });

  it('takes a public URL; a private one only where the operator lets it', () => {
    expect(urlProblem('https://hooks.example.com/in?x=1', false)).toBeUndefined();
    expect(urlProblem('http://127.0.0.1:9000/in', true)).toBeUndefined();
  });

  it.each([
    ['localhost', []],
    ['metadata.internal', [{ address: '8.8.8.8', family: 4 }]],
    ['private.example', [{ address: '10.0.0.1', family: 4 }]],
    [
      'mixed.example',
      [
        { address: '8.8.8.8', family: 4 },
        { address: '::1', family: 6 },
      ],
    ],
  ])('not to the name %s', async (name, addresses) => {
    const lookup = publicLookup(async () => addresses);
    const error = await new Promise((resolve) => lookup(name, { all: true }, (failed) => resolve(failed)));
    expect(error).toMatchObject({ name: 'PrivateAddressError' });
  });

  it('connects to the very address that was judged, whatever the name resolves to a moment later', async () => {
    let asked = 0;
    const lookup = publicLookup(async () => [{ address: asked++ === 0 ? '8.8.8.8' : '127.0.0.1', family: 4 }]);
    const given = await new Promise((resolve) =>
      lookup('rebound.example', {}, (failed, address) => resolve([failed, address])),
    );
    expect([given, asked]).toEqual([[null, '8.8.8.8'], 1]);
  });
});

describe.each(databases)('webhook messages on $name', ({ make }) => {
  let database: TestDatabase;
  let store: Store;
  let receiver: Server;
  let url: string;
  let time = Date.UTC(2026, 10, 10, 12);
  let answer = 200;
  const received: { readonly headers: NodeJS.Dict<string | string[]>; readonly body: string }[] = [];

  beforeAll(async () => {
    database = await make();
    store = await database.open({ now: () => time });
    receiver = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => {
        received.push({ headers: request.headers, body });
        if (answer === 302) response.setHeader('location', `${url}/elsewhere`);
        response.writeHead(answer).end('a long private answer');
      });
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  }, 60_000);
  afterAll(async () => {
    receiver?.close();
    await store?.close();
    await database?.remove();
  });

  it('are signed, tried again after a failure, and given up in the end; redirects are not followed', async () => {
    const account = await store.accounts.create('a', 'pro');
    const { id, secret } = await store.webhooks.create(account.id, url, ['quota.low']);
    const sender = new WebhookSender(store.webhooks, { allowPrivate: true, now: () => time });
    await store.webhooks.send(id, 'webhook.test', '{"type":"webhook.test"}');
    answer = 500;
    await sender.tick();
    expect(await store.webhooks.deliveries(account.id, id, 5)).toMatchObject([
      { status: 'pending', attempts: 1, lastStatus: 500 },
    ]);
    await sender.tick();
    expect(received).toHaveLength(1);
    time += 6_000;
    answer = 200;
    await sender.tick();
    const [delivery] = await store.webhooks.deliveries(account.id, id, 5);
    expect(delivery).toMatchObject({ status: 'delivered', attempts: 2, lastStatus: 200, dueAt: null });

    const [first, last] = received;
    expect(first?.headers['webhook-id']).toBe(last?.headers['webhook-id']);
    const signed = `${last?.headers['webhook-id']}.${last?.headers['webhook-timestamp']}.${last?.body}`;
    const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
    expect(last?.headers['webhook-signature']).toBe(`v1,${createHmac('sha256', key).update(signed).digest('base64')}`);

    answer = 302;
    await store.webhooks.send(id, 'webhook.test', '{}');
    const before = received.length;
    for (const wait of [0, ...RETRY_AFTER_MS]) {
      time += 1.2 * wait;
      await sender.tick();
    }
    expect(received.length - before).toBe(RETRY_AFTER_MS.length + 1);
    const [given] = await store.webhooks.deliveries(account.id, id, 1);
    expect(given).toMatchObject({ status: 'failed', dueAt: null, lastError: 'the response was 302' });
    await store.webhooks.remove(account.id, id);
  });

  it('are not sent to a private address unless the operator lets them', async () => {
    const account = await store.accounts.create('b', 'pro');
    const { id } = await store.webhooks.create(account.id, url.replace('127.0.0.1', 'localhost'), ['quota.low']);
    const before = received.length;
    await store.webhooks.send(id, 'webhook.test', '{}');
    await new WebhookSender(store.webhooks, { allowPrivate: false, now: () => time }).tick();
    expect(received.length).toBe(before);
    expect(await store.webhooks.deliveries(account.id, id, 1)).toMatchObject([
      { status: 'pending', lastStatus: null, lastError: expect.stringContaining('not on the public Internet') },
    ]);
    await store.webhooks.remove(account.id, id);
  });

  it('of an account whose receivers never respond hold up nobody else', async () => {
    const silent = createServer(() => undefined);
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const hanging = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const [bad, good] = [await store.accounts.create('bad', 'pro'), await store.accounts.create('good', 'pro')];
    for (let at = 0; at < 5; at += 1) {
      const { id } = await store.webhooks.create(bad.id, hanging, ['quota.low']);
      for (let message = 0; message < 10; message += 1) await store.webhooks.send(id, 'webhook.test', '{}');
    }
    const { id } = await store.webhooks.create(good.id, url, ['quota.low']);
    await store.webhooks.send(id, 'webhook.test', '{}');
    answer = 200;
    const sender = new WebhookSender(store.webhooks, { allowPrivate: true, now: () => time });
    const over = sender.tick();
    await vi.waitFor(async () =>
      expect(await store.webhooks.deliveries(good.id, id, 1)).toMatchObject([{ status: 'delivered' }]),
    );
    const open = await new Promise((resolve) => silent.getConnections((_, connections) => resolve(connections)));
    expect(open, 'two attempts of an account at once').toBe(2);
    const closed = sender.close();
    silent.closeAllConnections();
    await Promise.all([over, closed]);
    silent.close();
    for (const { id: one } of await store.webhooks.list(bad.id)) await store.webhooks.remove(bad.id, one);
  });

  it('tell of a quota that is used up once, to the accounts that asked', async () => {
    const account = await store.accounts.create('c', 'trial');
    const other = await store.accounts.create('d', 'trial');
    const { id } = await store.webhooks.create(account.id, url, ['quota.low', 'quota.exhausted']);
    const deaf = await store.webhooks.create(other.id, url, ['model.failing']);
    const watch = watchAccounts(store, () => time);
    await watch.tick();
    expect(await store.webhooks.deliveries(account.id, id, 5)).toEqual([]);
    for (const { id: accountId } of [account, other])
      await Promise.all(Array.from({ length: 1000 }, () => store.usage.charge(accountId, time)));
    await watch.tick();
    await watch.tick();
    const told = await store.webhooks.deliveries(account.id, id, 5);
    expect(told.map(({ event }) => event)).toEqual(['quota.exhausted']);
    expect(JSON.parse(told[0]?.body ?? '')).toMatchObject({
      type: 'quota.exhausted',
      data: { account_id: account.id, remaining: 0, plan: 'trial' },
    });
    expect(await store.webhooks.deliveries(other.id, deaf.id, 5)).toEqual([]);
  });
});
