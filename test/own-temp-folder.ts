import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** One folder for all that a run's tests leave in the folder for temporary files, and its end. */
export function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-tests-'));
  // PostgreSQL runs as a user of its own, and passes through it.
  chmodSync(folder, 0o711);
  const before = process.env.TMPDIR;
  process.env.TMPDIR = folder;
  return () => {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
    // Services that end with their tests' process may still write.
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
}
