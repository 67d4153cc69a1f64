import { connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { KEY, type TestApp, testApp } from '../test-app.js';

let service: TestApp;
let port: number;

beforeAll(async () => {
  service = await testApp({ limits: { requestMs: 400, callsAtOnce: 3 } });
  await service.app.listen({ port: 0, host: '127.0.0.1' });
  port = (service.app.server.address() as { readonly port: number }).port;
});
afterAll(() => service.app.close());

/** Sends a beginning, then a byte now and then, until the connection is closed. */
const drip = (beginning: string, byte: string): Promise<{ readonly text: string; readonly ms: number }> =>
  new Promise((resolve) => {
    const started = performance.now();
    let text = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(beginning));
    const more = setInterval(() => socket.writable && socket.write(byte), 50);
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearInterval(more);
      resolve({ text, ms: performance.now() - started });
    });
  });

const START = 'POST /analyze HTTP/1.1\r\nHost: a\r\n';
const head = `${START}Authorization: Bearer ${KEY}\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{`;

it('API4: headers and bodies that drip in are a 408, and the connection ends', async () => {
  for (const { text, ms } of await Promise.all([drip(START, 'A'), drip(head, ' ')])) {
    expect(text).toMatch(/^HTTP\/1.1 408 /);
    expect(text).toContain('Access-Control-Allow-Origin: *');
    expect(text).toContain('{"error":"The request did not arrive in time."}');
    expect(ms).toBeLessThan(5_000);
  }
});

it('API4: callers who drip hold their places no longer than that', async () => {
  const slow = Array.from({ length: 3 }, () => drip(head, ' '));
  await new Promise((resolve) => setTimeout(resolve, 150));
  expect((await service.post({ input: 'a' })).statusCode).toBe(503);
  await Promise.all(slow);
  await expect.poll(async () => (await service.post({ input: 'a' })).statusCode, { timeout: 5_000 }).toBe(200);
});
