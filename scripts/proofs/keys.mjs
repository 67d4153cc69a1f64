// npm run proof -- keys [-- --rounds N]: 500 rotations of a key under load on each database, which `npm test` keeps in short form.
import { parseArgs } from 'node:util';
import { runLongTests } from '../tests/long-tests.mjs';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '500' } }, strict: false });
await runLongTests(['test/security/keys.test.ts'], { PORTCULLIS_PROOF_ROTATIONS: String(values.rounds) });
