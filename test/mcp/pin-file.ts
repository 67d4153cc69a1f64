import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-pins-'));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

/** A path for pins that no other test has. */
export function freshPinFile(): string {
  return join(folder, `pins-${++files}.json`);
}
