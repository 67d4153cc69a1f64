import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';

const [, command = '[]'] = /^HEALTHCHECK .*\\\n\s+CMD (\[.*\])$/m.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
const [, ...args] = JSON.parse(command) as readonly string[];

it.each([
  ['healthy', 200, 0],
  ['not ready', 503, 1],
])('the image asks for its health on the port that the service was given: %s', async (_, status, expected) => {
  const server = createServer((request, response) => {
    response.writeHead(request.url === '/readyz' ? status : 404).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const check = spawn(process.execPath, args, { env: { PORTCULLIS_PORT: String(port) }, stdio: 'inherit' });
  expect(await once(check, 'exit')).toEqual([expected, null]);
  server.close();
});
