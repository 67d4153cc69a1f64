import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

it('of 240 cases of the fuzz none leaks, and no honest message is changed', () => {
  const file = join(import.meta.dirname, 'fuzz', 'main.js');
  const run = spawnSync(process.execPath, [file, '--cases', '240', '--seed', '7'], { encoding: 'utf8' });
  expect(run.stdout.trim().split('\n').slice(-5).join('\n')).toMatch(
    /^seed 7: 240 cases \(80 honest, 140 attacks, 20 changed tools\), \d+ answered: 0 leaks, 0 honest messages changed$/,
  );
  expect(run.status).toBe(0);
}, 240_000);
