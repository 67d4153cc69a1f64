import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe } from 'vitest';
import { databases } from '../store/databases.js';
import { type Service, startService } from './service.js';

/** Those of this process, by database and flags: they end with it. A test makes accounts of its own, and sets the clock back. */
const services = new Map<string, Promise<Service>>();

/** Runs tests against the built service over HTTP, once on each database. */
export function onBothDatabases(tests: (service: () => Service) => void, flags?: readonly string[]): void {
  describe.each(databases)('the service on $name', ({ name, make }) => {
    let service: Service;
    beforeAll(async () => {
      const key = [name, ...(flags ?? [])].join(' ');
      const start = async () => startService(await make(), mkdtempSync(join(tmpdir(), 'portcullis-contract-')), flags);
      const started = services.get(key) ?? start();
      services.set(key, started);
      service = await started;
    }, 240_000);
    tests(() => service);
  });
}
