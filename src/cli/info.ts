import { Command } from 'commander';
import { packageVersion } from '../adapters/package-version.js';
import { type EngineFlags, openEngine, withEngineFlags } from './engine-flags.js';

async function collectInfo(flags: EngineFlags) {
  const engine = await openEngine(flags);
  try {
    return { version: packageVersion(), node: process.versions.node, engines: '>=20.19', ...engine.info };
  } finally {
    await engine.close();
  }
}

async function printInfo(flags: EngineFlags): Promise<void> {
  const facts = await collectInfo(flags);
  if (flags.json) {
    process.stdout.write(`${JSON.stringify(facts, null, 2)}\n`);
    return;
  }
  const packs = facts.packs.map(({ name, version, rules }) => `${name} ${version} (${rules} rules)`);
  const channels = Object.entries(facts.channels).map(([name, { ml_threshold }]) => `${name} ${ml_threshold}`);
  const width = Math.max(...Object.keys(facts).map((name) => name.length));
  for (const [name, value] of Object.entries({ ...facts, packs, channels })) {
    const shown = Array.isArray(value) ? value.join(', ') : (value ?? '-');
    process.stdout.write(`${name.padEnd(width)}  ${shown}\n`);
  }
}

/** `portcullis info`: versions, rules, languages, and whether a model runs and why not. */
export function infoCommand(): Command {
  return withEngineFlags(
    new Command('info').description('show versions, rules, languages and the state of the model'),
  ).action(printInfo);
}
