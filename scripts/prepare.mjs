// npm runs this after `npm ci` in a checkout, so that `dist/cli/main.js` runs there.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBuilt, root } from './checkout.mjs';

const production = !existsSync(join(root, 'node_modules', 'tsdown'));
if (production || process.env.PORTCULLIS_SKIP_PREPARE) process.exit(0);
if (!(await ensureBuilt())) process.exit(1);
