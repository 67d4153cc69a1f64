import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Ballast } from '../../../src/store/embedded/database-file.js';

it('restore and requireRoom put the ballast back; hasRoom does not', () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-ballast-'));
  const file = join(folder, 'ballast');
  try {
    const ballast = new Ballast(folder);
    expect(statSync(file).size).toBe(16 * 1024 * 1024);
    ballast.release();
    expect(ballast.hasRoom()).toBe(true);
    expect(existsSync(file)).toBe(false);
    ballast.requireRoom();
    expect(existsSync(file)).toBe(true);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
