import { isChanged, type OutputCase, playCase, readCases } from './output-cases.js';

// What the point `output` finds in 40 forms of exfiltration and changes in 200 honest answers with links: npm run bench -- output.

async function changed(cases: readonly OutputCase[]): Promise<readonly OutputCase[]> {
  const found: OutputCase[] = [];
  for (const each of cases) if (isChanged(await playCase(each), each)) found.push(each);
  return found;
}

const attacks = readCases('attacks');
const honest = readCases('honest');
const stopped = await changed(attacks);
const disturbed = await changed(honest);
console.log(`forms of exfiltration stopped: ${stopped.length} of ${attacks.length}`);
for (const { id, form } of attacks.filter((each) => !stopped.includes(each))) console.log(`  passes ${id}: ${form}`);
console.log(`honest answers changed: ${disturbed.length} of ${honest.length}`);
for (const { id, form } of disturbed) console.log(`  changed ${id}: ${form}`);
