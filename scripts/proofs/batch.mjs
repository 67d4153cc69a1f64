// `npm run proof -- batch`: the batch's promises at full length, which `npm test` keeps in short form: 50 kills at random
// moments; memory over 10 million short rows and a file of 1 GB; every verdict of a file of {"text"} as `analyze` has it.
// -- kill | flat | verdicts: one of them; -- verdicts --texts FILE.jsonl: other texts than the repository's.
import { parseArgs } from 'node:util';
import { runLongTests } from '../tests/long-tests.mjs';

const { values, positionals } = parseArgs({ options: { texts: { type: 'string' } }, allowPositionals: true });
const lengths = {
  PORTCULLIS_PROOF_BATCH_KILLS: '50',
  PORTCULLIS_PROOF_BATCH_ROWS: '10000000',
  PORTCULLIS_PROOF_BATCH_BYTES: '1000000000',
  ...(values.texts === undefined ? {} : { PORTCULLIS_PROOF_BATCH_TEXTS: values.texts }),
};
const names = positionals.length > 0 ? positionals : ['kill', 'flat', 'verdicts'];
await runLongTests(
  names.map((name) => `test/batch/${name}.test.ts`),
  lengths,
);
