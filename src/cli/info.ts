import { Command } from 'commander';
import { packageVersion } from '../adapters/package-version.js';
import type { PackInForce } from '../engine/rules/types.js';
import { type EngineFlags, openEngine, withEngineFlags } from './engine-flags.js';

async function collectInfo(flags: EngineFlags): Promise<Readonly<Record<string, unknown>>> {
  const engine = await openEngine(flags);
  try {
    return { version: packageVersion(), node: process.versions.node, engines: '>=20.19', ...engine.info };
  } finally {
    await engine.close();
  }
}

/** `core 1.0.0 (583 rules)`. */
function shownPack({ name, version, rules }: PackInForce): string {
  return `${name} ${version} (${rules} rules)`;
}

function shown(value: unknown): string {
  return Array.isArray(value) ? value.join(', ') : String(value ?? '-');
}

async function printInfo(flags: EngineFlags): Promise<void> {
  const facts = await collectInfo(flags);
  if (flags.json) {
    process.stdout.write(`${JSON.stringify(facts, null, 2)}\n`);
    return;
  }
  const lines = { ...facts, packs: (facts.packs as readonly PackInForce[]).map(shownPack) };
  const width = Math.max(...Object.keys(facts).map((name) => name.length));
  for (const [name, value] of Object.entries(lines)) process.stdout.write(`${name.padEnd(width)}  ${shown(value)}\n`);
}

/** `portcullis info`: versions, rules, languages, and whether a model runs and why not. */
export function infoCommand(): Command {
  return withEngineFlags(
    new Command('info').description('show versions, rules, languages and the state of the model'),
  ).action(printInfo);
}
