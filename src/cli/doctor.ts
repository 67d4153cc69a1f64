import { hash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Command } from 'commander';
import { findModel, readModelFolder } from '../adapters/model/model-folder.js';
import { packageVersion } from '../adapters/package-version.js';
import { loadPack } from '../adapters/packs/load-pack.js';
import type { Engine } from '../engine/engine.js';
import { errorCode, ModelError } from '../engine/errors.js';
import { type EngineFlags, openEngine, trustOption, withEngineFlags, withTrust } from './engine-flags.js';
import { EXAMPLES } from './screen/try.js';
import { PACKAGES } from './serve.js';
import { type Paint, paintFor } from './terminal.js';

interface Check {
  readonly name: string;
  /** `missing`: optional, and something does without it. */
  readonly state: 'ok' | 'missing' | 'failed';
  readonly detail: string;
  readonly advice?: string;
}

const ok = (name: string, detail: string): Check => ({ name, state: 'ok', detail });
const missing = (name: string, detail: string, advice: string): Check => ({ name, state: 'missing', detail, advice });
const failed = (name: string, detail: string, advice: string): Check => ({ name, state: 'failed', detail, advice });

function nodeCheck(): Check {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const isEnough = major > 20 || (major === 20 && minor >= 19);
  const detail = `${process.versions.node} on ${process.platform} ${process.arch}`;
  return isEnough ? ok('Node', detail) : failed('Node', detail, 'Install Node 20.19 or newer.');
}

/** Loads the packages: a native module that is there may still not load. */
async function packageCheck(name: string, packages: readonly string[], advice: string): Promise<Check> {
  for (const one of packages) {
    try {
      await import(one);
    } catch (error) {
      const code = errorCode(error) || 'it does not load';
      const why = code === 'ERR_MODULE_NOT_FOUND' ? 'not installed' : code;
      return missing(name, `${one}: ${why}`, advice);
    }
  }
  return ok(name, packages.join(', '));
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

async function timed(run: () => unknown): Promise<number> {
  const started = performance.now();
  await run();
  return performance.now() - started;
}

const millis = (value: number): string => `${value < 10 ? value.toFixed(2) : value.toFixed(0)} ms`;

const RULES_ROUNDS = 50;
const MODEL_ROUNDS = 5;

async function selfTest(engine: Engine): Promise<readonly Check[]> {
  const [attack, benign] = EXAMPLES as readonly [string, string];
  const verdicts = [await engine.analyze(attack), await engine.analyze(benign)];
  const isRight = verdicts[0]?.verdict === 'block' && verdicts[1]?.verdict === 'allow';
  const fellBack = verdicts.find(({ decided_by }) => decided_by === 'ml-error-rules-fallback');
  const rules: number[] = [];
  for (let round = 0; round < RULES_ROUNDS; round += 1)
    rules.push(await timed(() => engine.scan(`${benign} ${round}`)));
  const detail = `an attack: ${verdicts[0]?.verdict}; a benign text: ${verdicts[1]?.verdict}`;
  const checks: readonly Check[] = [
    isRight
      ? ok('Self-test', detail)
      : failed('Self-test', detail, 'Check --pack, --overlay and the thresholds that "portcullis info" prints.'),
    ok('Rules', `${millis(median(rules))} for a short text (median of ${RULES_ROUNDS})`),
  ];
  if (engine.info.mode === 'rules') return checks;
  if (fellBack !== undefined) {
    const advice = engine.info.mode_reason ?? 'Install the model again, or use --mode rules.';
    return [...checks, failed('Model speed', 'the model failed, and the rules decided', advice)];
  }
  const model: number[] = [];
  for (let round = 0; round < MODEL_ROUNDS; round += 1)
    model.push(await timed(() => engine.analyze(`${benign} ${round}`)));
  return [...checks, ok('Model speed', `${millis(median(model))} for a short text (median of ${MODEL_ROUNDS})`)];
}

async function engineChecks(flags: EngineFlags): Promise<readonly Check[]> {
  let engine: Engine | undefined;
  try {
    const started = performance.now();
    engine = await openEngine(flags);
    const opened = performance.now() - started;
    const { info } = engine;
    const { contents } = loadPack({
      packs: flags.pack,
      overlays: flags.overlay,
      today: new Date().toISOString().slice(0, 10),
    });
    // A scan reads no word lists: an overlay does, and fails where their file is missing or damaged.
    const lists = contents.flatMap(({ words }) => Object.keys(words)).length;
    const point = info.operating_point === null ? '' : ` (${info.operating_point})`;
    return [
      ok(
        'Pack',
        `${info.pack} ${info.rules_version}, ${info.rules} rules, blocks at ${info.rules_threshold}; ${lists} word lists`,
      ),
      info.mode === 'rules'
        ? missing(
            'Model',
            info.mode_reason ?? 'none is used',
            'The rules decide alone. To use a model, install onnxruntime-node, and pass --model FOLDER if none is installed.',
          )
        : ok('Model', `${info.ml_version}, blocks at ${info.ml_threshold}${point}`),
      ok('Start', `${millis(opened)}, mode ${info.mode}`),
      ...(await selfTest(engine)),
    ];
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return [failed('Engine', error.message, 'Fix this and run doctor again.')];
  } finally {
    await engine?.close();
  }
}

const REINSTALL = 'Install the package again. In a checkout, run "npm run build".';

/** Compares the installed files with the digests that the build wrote, and a model's with its manifest. */
async function verifyFiles({ model }: EngineFlags): Promise<readonly Check[]> {
  const root = dirname(createRequire(import.meta.url).resolve('portcullis/package.json'));
  const listPath = join(root, 'dist', 'digests.json');
  if (!existsSync(listPath)) return [failed('Files', 'dist/digests.json is missing', REINSTALL)];
  const list = readFileSync(listPath, 'utf8');
  const digests = Object.entries(JSON.parse(list) as Readonly<Record<string, string>>);
  const isAsBuilt = ([path, digest]: readonly [string, string]): boolean => {
    try {
      return hash('sha256', readFileSync(join(root, path))) === digest;
    } catch {
      return false;
    }
  };
  const changed = digests.filter((one) => !isAsBuilt(one)).map(([path]) => path);
  const more = changed.length > 5 ? ` and ${changed.length - 5} more` : '';
  const files =
    changed.length === 0
      ? ok('Files', `${digests.length} as built; digests.json is sha256 ${hash('sha256', list)}`)
      : failed('Files', `changed or missing: ${changed.slice(0, 5).join(', ')}${more}`, REINSTALL);
  const folder = model === 'off' ? undefined : findModel(model);
  if (folder === undefined) return [files];
  try {
    const { version } = await readModelFolder(folder);
    return [files, ok('Model files', `${version}, as in its manifest`)];
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    return [files, failed('Model files', error.message, 'Install or copy the model again.')];
  }
}

function shownCheck({ name, state, detail, advice }: Check, paint: Paint): string {
  const word = { ok: paint.green('ok     '), missing: paint.dim('missing'), failed: paint.red('FAILED ') }[state];
  return `${word}  ${name.padEnd(12)}  ${detail}\n${advice === undefined ? '' : `${' '.repeat(23)}${advice}\n`}`;
}

const SERVICE_PACKAGES = PACKAGES.split(' ')
  .map((one) => one.slice(0, one.lastIndexOf('@')))
  .filter((name) => name !== 'better-sqlite3');

interface DoctorFlags extends EngineFlags {
  readonly verify?: boolean;
  readonly trust?: readonly string[];
}

async function run({ verify, trust, ...given }: DoctorFlags): Promise<void> {
  const flags: EngineFlags = trust === undefined ? given : { ...given, pack: withTrust(given.pack, trust) };
  const checks: Check[] = [
    ok('Portcullis', packageVersion()),
    nodeCheck(),
    await packageCheck('ONNX Runtime', ['onnxruntime-node'], 'For the model: npm install onnxruntime-node@1'),
    await packageCheck('Service', SERVICE_PACKAGES, `For "portcullis serve": npm install ${PACKAGES}`),
    await packageCheck('SQLite', ['better-sqlite3'], 'For the embedded database: npm install better-sqlite3@12.11.1'),
  ];
  if (verify) checks.push(...(await verifyFiles(flags)));
  if (checks.every(({ state }) => state !== 'failed')) checks.push(...(await engineChecks(flags)));
  const faults = checks.filter(({ state }) => state === 'failed').length;
  const paint = paintFor(process.stdout);
  process.stdout.write(
    flags.json
      ? `${JSON.stringify({ ok: faults === 0, checks }, null, 2)}\n`
      : `${checks.map((check) => shownCheck(check, paint)).join('')}\n${faults === 0 ? 'Ready.' : `${faults} ${faults === 1 ? 'problem' : 'problems'} to fix.`}\n`,
  );
  process.exitCode = faults === 0 ? 0 : 1;
}

/** `portcullis doctor`: what is installed, which pack and model run, a self-test with timings, and what to do. */
export function doctorCommand(): Command {
  return withEngineFlags(
    new Command('doctor').description(
      'check the installation: packages, pack, model and a self-test with timings; exits with 1 if something must be fixed',
    ),
  )
    .addOption(trustOption())
    .option('--verify', 'compare the installed files, rules and models with their digests')
    .action(run);
}
