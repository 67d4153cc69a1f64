// npm run proof:keys: 500 rotations of a key under load on each database, which `npm test` keeps in short form.
import { runLongTests } from './long-tests.mjs';

await runLongTests(['test/security/keys.test.ts'], { PORTCULLIS_PROOF_ROTATIONS: '500' });
