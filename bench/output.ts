import { type OutputCase, readCases, showOutput, startCase } from './output-cases.js';

// What the point `output` finds in 40 forms of exfiltration and changes in 200 honest answers with links, in one piece and in a
// stream of pieces of four characters, as a token has: npm run bench -- output.

const TOKEN = 4;

async function changed(cases: readonly OutputCase[], pieceLength?: number): Promise<readonly OutputCase[]> {
  const found: OutputCase[] = [];
  for (const each of cases)
    if ((await showOutput(await startCase(each), each.output, pieceLength)) !== each.output) found.push(each);
  return found;
}

const attacks = readCases('attacks');
const honest = readCases('honest');
for (const [name, length] of [
  ['in one piece', undefined],
  ['in a stream', TOKEN],
] as const) {
  const stopped = await changed(attacks, length);
  const disturbed = await changed(honest, length);
  console.log(`${name}: forms of exfiltration stopped: ${stopped.length} of ${attacks.length}`);
  for (const { id, form } of attacks.filter((each) => !stopped.includes(each))) console.log(`  passes ${id}: ${form}`);
  console.log(`${name}: honest answers changed: ${disturbed.length} of ${honest.length}`);
  for (const { id, form } of disturbed) console.log(`  changed ${id}: ${form}`);
}

const lags: number[] = [];
const times: number[] = [];
for (const each of honest) {
  const run = await startCase(each);
  const stream = run.outputStream();
  let shown = 0;
  for (let at = 0; at < each.output.length; at += TOKEN) {
    const piece = each.output.slice(at, at + TOKEN);
    const before = process.cpuUsage();
    shown += (await stream.write(piece)).length;
    const { user, system } = process.cpuUsage(before);
    times.push(user + system);
    lags.push(at + piece.length - shown);
  }
  await stream.end();
}
for (const list of [lags, times]) list.sort((a, b) => a - b);
const at = (list: readonly number[], share: number): number => list[Math.floor(share * (list.length - 1))] ?? 0;
const row = (list: readonly number[]): string =>
  [0.5, 0.95, 0.99].map((share) => `p${100 * share} ${at(list, share)}`).join(', ');
console.log(`in a stream: characters held back in honest answers: ${row(lags)} (n ${lags.length} pieces)`);
console.log(`in a stream: CPU time of a piece: ${row(times)} µs`);
