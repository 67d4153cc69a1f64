// `npm run proof -- store`: the store's promises at full length, which `npm test` keeps in short form.
// 200 rounds of kill -9, 50 races of three processes on each database, PostgreSQL away for 30 s under load.
import { runLongTests } from '../tests/long-tests.mjs';

const lengths = { PORTCULLIS_PROOF_KILLS: '200', PORTCULLIS_PROOF_RACES: '50', PORTCULLIS_PROOF_OUTAGE_MS: '30000' };
await runLongTests(
  ['durability/kill', 'accounts/race', 'durability/outage'].map((name) => `test/store/${name}.test.ts`),
  lengths,
);
