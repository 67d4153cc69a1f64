import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { databases, type TestDatabase } from '../store/databases.js';
import { type Service, startService } from './service.js';

/** Runs tests against the built service over HTTP, once on each database. */
export function onBothDatabases(tests: (service: () => Service) => void, flags?: readonly string[]): void {
  describe.each(databases)('the service on $name', ({ make }) => {
    let folder: string;
    let database: TestDatabase;
    let service: Service;
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'portcullis-contract-'));
      database = await make();
      service = await startService(database, folder, flags);
    }, 240_000);
    afterAll(async () => {
      await service?.stop();
      await database?.remove();
      rmSync(folder, { recursive: true, force: true });
    });
    tests(() => service);
  });
}
