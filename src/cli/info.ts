import { Command } from 'commander';
import { packageVersion } from '../adapters/package-version.js';
import { type EngineFlags, openEngine, withEngineFlags } from './engine-flags.js';

async function infoOf(flags: EngineFlags): Promise<Readonly<Record<string, unknown>>> {
  const engine = await openEngine(flags);
  try {
    return { version: packageVersion(), node: process.versions.node, engines: '>=20.19', ...engine.info };
  } finally {
    await engine.close();
  }
}

function shown(value: unknown): string {
  return Array.isArray(value) ? value.join(', ') : String(value ?? '-');
}

async function printInfo(flags: EngineFlags): Promise<void> {
  const facts = await infoOf(flags);
  if (flags.json) {
    process.stdout.write(`${JSON.stringify(facts, null, 2)}\n`);
    return;
  }
  const width = Math.max(...Object.keys(facts).map((name) => name.length));
  for (const [name, value] of Object.entries(facts)) process.stdout.write(`${name.padEnd(width)}  ${shown(value)}\n`);
}

/** `portcullis info`: versions, rules, languages, and whether a model runs and why not. */
export function infoCommand(): Command {
  return withEngineFlags(
    new Command('info').description('versions, rules, languages and the state of the model'),
  ).action(printInfo);
}
