import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { serveCommand } from '../../../src/cli/serve.js';

/** The table of settings: flag, variable, default. */
const rows = readFileSync('docs/operating.md', 'utf8')
  .split('\n')
  .map((line) => line.split('|').slice(1, -1))
  .filter(([flag = '', variable = '']) => /`--[a-z-]+`/.test(flag) || /`PORTCULLIS_\w+`/.test(variable))
  .map((cells) => cells.map((cell) => /`([^`]+)`/.exec(cell)?.[1] ?? ''));

describe('docs/operating.md', () => {
  const options = serveCommand().options.filter(
    // Without what is no setting, and the names of 1.0.
    ({ long }) => !['--print-config', '--scorers', '--calls-at-once'].includes(long ?? ''),
  );

  it('names each setting with its variable and its default', () => {
    const due = options.map(({ long, hidden, envVar, defaultValue }) => [
      hidden ? '' : (long ?? ''),
      envVar ?? '',
      String(defaultValue ?? ''),
    ]);
    expect(rows.map((cells) => cells.slice(0, 3))).toEqual(due);
    expect(rows.length).toBeGreaterThan(10);
  });
});
