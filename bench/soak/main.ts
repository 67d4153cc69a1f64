// npm run proof -- soak kill|outage|quota|model|memory|all [--rounds N] [--record]: the service's promises at full length.
// --rounds is kills (200), seconds away (30), rounds (50), scorers killed and as many hung (100), calls (400,000).
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { killServices } from '../../test/service/service-process.js';
import { killSoak } from './kill.js';
import { memorySoak } from './memory.js';
import { modelSoak } from './model.js';
import { outageSoak } from './outage.js';
import { quotaSoak } from './quota.js';
import type { SoakReport } from './soak-report.js';

const soaks: Readonly<Record<string, readonly [(length: number) => Promise<SoakReport>, number]>> = {
  kill: [killSoak, 200],
  outage: [outageSoak, 30],
  quota: [quotaSoak, 50],
  model: [(times) => modelSoak(times, times), 100],
  memory: [memorySoak, 400_000],
};
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string' }, record: { type: 'boolean', default: false } },
});
const asked = positionals.length === 0 || positionals[0] === 'all' ? Object.keys(soaks) : positionals;
const unknown = asked.filter((name) => !Object.hasOwn(soaks, name));
if (unknown.length > 0) {
  process.stderr.write(`no soak named ${unknown.join(', ')}; there are ${Object.keys(soaks).join(', ')}, all\n`);
  process.exit(2);
}

const record = (report: SoakReport, length: number, seconds: number): void => {
  const folder = join('bench', 'record', 'soak');
  mkdirSync(folder, { recursive: true });
  const facts = Object.entries(report.facts).map(([name, value]) => `| ${name} | ${value} |`);
  const faults = report.faults.length === 0 ? ['None.'] : report.faults.map((fault) => `- ${fault}`);
  const load = loadavg()[0]?.toFixed(1);
  const head = `# Soak: ${report.name}\n\nMade by \`npm run proof -- soak ${report.name} --rounds ${length}\`, ${new Date().toISOString().slice(0, 10)}, ${Math.round(seconds)} s on ${availableParallelism()} cores, load average ${load} at the end, Node ${process.version}.\n`;
  writeFileSync(
    join(folder, `${report.name}.md`),
    `${head}\n| what | seen |\n| - | - |\n${facts.join('\n')}\n\nFaults:\n\n${faults.join('\n')}\n`,
  );
};

if (!existsSync('dist') || !readFileSync('package.json', 'utf8').includes('"portcullis"')) process.exit(2);
for (const name of asked) {
  const [soak, length] = soaks[name] ?? [killSoak, 0];
  const started = performance.now();
  try {
    const rounds = Number(values.rounds ?? length);
    const report = await soak(rounds);
    process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
    if (values.record) record(report, rounds, (performance.now() - started) / 1000);
    if (report.faults.length > 0) process.exitCode = 1;
  } finally {
    killServices();
  }
}
