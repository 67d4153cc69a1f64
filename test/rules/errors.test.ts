import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { loadPack, NO_CORE } from '../../src/adapters/packs/load-pack.js';
import { parseOverlay } from '../../src/adapters/packs/pack-overlay.js';
import { lintRules, testRules } from '../../src/cli/rules/check-rules.js';

import { paintFor } from '../../src/cli/terminal.js';

const FOLDER = 'test/rules/errors';
const packs = readdirSync(FOLDER, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

const run = (command: typeof lintRules, pack: string): string => {
  const parts: string[] = [];
  const io = { out: (part: string) => void parts.push(part), paint: paintFor({ isTTY: false }), today: '2026-06-01' };
  const code = command({ pack: [NO_CORE, `${FOLDER}/${pack}`] }, io);
  return `${parts.join('')}exit ${code}\n`;
};

describe('what a pack author is told', () => {
  it.each(packs.filter((name) => name !== 'examples'))('%s', async (name) => {
    await expect(run(lintRules, name)).toMatchFileSnapshot(`errors/${name}.out`);
  });

  it('examples', async () => {
    await expect(run(testRules, 'examples')).toMatchFileSnapshot('errors/examples.out');
  });

  it('overlay', async () => {
    const load = (): unknown =>
      loadPack({
        core: false,
        packs: [`${FOLDER}/examples`],
        overlays: [`${FOLDER}/overlay.yaml`],
        today: '2026-06-01',
      });
    let report = '';
    try {
      load();
    } catch (error) {
      report = error instanceof Error ? error.message : '';
    }
    await expect(report).toMatchFileSnapshot('errors/overlay.out');
  });

  it('a long line with a problem in each word is shown in part', () => {
    const line = '&a '.repeat(5_000);
    let report = '';
    try {
      parseOverlay('overlay.yaml', line);
    } catch (error) {
      report = error instanceof Error ? error.message : '';
    }
    expect(report.match(/error\[PACK001\]/g)?.length).toBeGreaterThan(4_000);
    expect(report.length).toBeLessThan(500 * line.length);
  });
});
