// `npm run proof -- site`: builds the site and looks at it in Chromium: links and anchors, axe on every kind of page in light and dark and
// on a phone, requests to elsewhere, and the time to the first search hit. --built: the site as it was built before.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { root } from '../checkout.mjs';

const { values } = parseArgs({ options: { built: { type: 'boolean', default: false } } });
const run = (...args) =>
  spawnSync(process.execPath, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] }).status;
const status = values.built ? 0 : run(join('scripts', 'site.mjs'));
process.exitCode =
  status ||
  run(join('node_modules', 'vitest', 'vitest.mjs'), 'run', '--config', join('test', 'site', 'site.config.ts'));
