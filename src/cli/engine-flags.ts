import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { findModel } from '../adapters/model/model-folder.js';
import { NO_CORE, TRUST } from '../adapters/packs/load-pack.js';
import { readPublicKey } from '../adapters/packs/minisign.js';
import type { Engine } from '../engine/engine.js';
import type { Thresholds } from '../engine/engine-settings.js';
import type { Classifier } from '../engine/ports.js';
import type { ScoringSetup } from '../evaluation/scoring/score-texts.js';
import { CliError } from './terminal.js';

export interface EngineFlags {
  readonly mode?: 'rules' | 'hybrid' | 'shadow';
  readonly pack?: readonly string[];
  readonly overlay?: readonly string[];
  readonly model?: string;
  readonly operatingPoint?: string;
  readonly isolation?: 'process' | 'thread';
  readonly json?: boolean;
}

/** An option that takes one of a few words; `standard` is its default. */
export function choice(flags: string, description: string, words: readonly string[], standard?: string): Option {
  const option = new Option(flags, description).choices(words);
  return standard === undefined ? option : option.default(standard);
}

/** Parses an option that may be repeated. */
export function collect(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}

/** `--no-core` becomes part of the list of packs, where every command looks. */
function leaveOutCore(command: Command): void {
  if (command.getOptionValue('core') !== false) return;
  command.setOptionValue('pack', [NO_CORE, ...((command.getOptionValue('pack') as string[] | undefined) ?? [])]);
}

/** Makes the option `--trust`; `withTrust` applies it. */
export function trustOption(): Option {
  return new Option(
    '--trust <key>',
    'load only packs that this public key of minisign signed, beside core: a key (RW…) or its file; may be repeated',
  ).argParser(collect);
}

/** The list of packs with `--trust` in it: keys, or files of them. @throws CliError for anything else */
export function withTrust(packs: readonly string[] | undefined, keys: readonly string[]): readonly string[] {
  const trusted = keys.map((key) => {
    const text = existsSync(key) ? readFileSync(key, 'utf8') : key;
    if (readPublicKey(text) === undefined)
      throw new CliError('--trust takes a public key of minisign (RW…), or the file that has it');
    return `${TRUST}${text.trim().split(/\r?\n/).at(-1)}`;
  });
  return [...trusted, ...(packs ?? [])];
}

/** Adds `--pack` and `--no-core`. */
export function withPackOptions(command: Command): Command {
  return command
    .option(
      '--pack <folder>',
      'rule pack to add to core: a folder, bundle or npm package; may be repeated, later packs override earlier ones',
      collect,
    )
    .option('--no-core', 'use only the packs given, without the core rules')
    .hook('preAction', leaveOutCore);
}

/** Adds `--isolation`, for commands whose model belongs to their own process. */
export function withIsolation(command: Command): Command {
  return command.addOption(
    choice(
      '--isolation <kind>',
      'run the model in a child process or in a thread; a thread is faster, but a crash of the model ends the program',
      ['process', 'thread'],
    ).default(undefined, 'process'),
  );
}

export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (!Number.isInteger(number) || number < least || number > most)
      throw new InvalidArgumentError(`give a whole number from ${least} to ${most}.`);
    return number;
  };
}

/** Adds `--mode`, `--pack`, `--overlay`, `--model` and `--json` to a command. */
export function withEngineFlags(command: Command): Command {
  return withScreenerFlags(command).option('--json', 'print JSON');
}

/** The same without `--json`, for commands whose `--json` takes a file. */
export function withScreenerFlags(command: Command): Command {
  return withPackOptions(command)
    .addOption(
      choice(
        '--mode <mode>',
        'what can block: the rules; rules and model (hybrid); or the rules, with the model reported only (shadow)',
        ['rules', 'hybrid', 'shadow'],
      ),
    )
    .option(
      '--overlay <file>',
      'overlay file with thresholds, rule changes and an allow-list; may be repeated',
      collect,
    )
    .option('--model <name>', 'name, npm package or folder of a model; "off" for none')
    .option(
      '--operating-point <name>',
      "the model's threshold: strict, balanced or permissive; overrides an overlay's",
    );
}

/** The thresholds that the flags set. @throws CliError for an operating point without a model */
export function chooseThresholds({ operatingPoint, mode, model }: EngineFlags): Thresholds | undefined {
  if (operatingPoint === undefined) return undefined;
  if (mode === 'rules' || model === 'off')
    throw new CliError(`--operating-point ${operatingPoint} needs a model: leave out --mode rules and --model off.`);
  return { model: operatingPoint };
}

async function modelFor({ mode, model, isolation }: EngineFlags): Promise<Classifier | false> {
  const { loadModel } = await import('../adapters/model/load-model.js');
  if (mode === 'rules' || model === 'off') return false;
  const folder = findModel(model);
  if (folder !== undefined) return loadModel(folder, { isolation });
  if (mode === undefined) return false;
  throw new CliError(
    `Mode ${mode} needs a model, and none is installed. Give one with --model NAME, or use --mode rules.`,
  );
}

/**
 * The engine that the flags ask for; with none of them, the library's default engine.
 * @throws CliError, PackError, ModelError or ConfigError with what to fix.
 */
export async function openEngine(flags: EngineFlags): Promise<Engine> {
  const [{ openPack }, { createEngine }, { defaultEngine }] = await Promise.all([
    import('../adapters/packs/open-pack.js'),
    import('../adapters/create-engine.js'),
    import('../adapters/default-engine.js'),
  ]);
  const { mode, pack, overlay, model, operatingPoint, isolation } = flags;
  if ([mode, pack, overlay, model, operatingPoint, isolation].every((flag) => flag === undefined))
    return defaultEngine();
  if (model === 'off' && (mode === 'hybrid' || mode === 'shadow'))
    throw new CliError(`Mode ${mode} needs a model: leave out --model off.`);
  const compiled = openPack({ packs: pack, overlays: overlay });
  return createEngine({
    pack: compiled,
    model: await modelFor(flags),
    mode,
    thresholds: chooseThresholds(flags),
  });
}

/** The setup that the flags describe: with a model, unless `--mode rules` or `--model off` is given or none is installed. */
export function setupOfFlags(flags: EngineFlags): ScoringSetup {
  const { mode, pack, overlay, model } = flags;
  return {
    packs: pack,
    overlays: overlay,
    model: mode === 'rules' || model === 'off' ? false : (findModel(model) ?? false),
    modelThreshold: chooseThresholds(flags)?.model,
  };
}

/** The setup with one thing put in its place: a model folder, an overlay (`*.yaml` file) or a pack. */
export function setupWith(setup: ScoringSetup, old: string): ScoringSetup {
  if (existsSync(join(old, 'manifest.json'))) return { ...setup, model: old };
  if (/\.ya?ml$/.test(old)) return { ...setup, overlays: [old] };
  const isWithoutCore = old !== 'core' && setup.packs?.includes(NO_CORE);
  return { ...setup, packs: isWithoutCore ? [NO_CORE, old] : [old], overlays: undefined };
}
