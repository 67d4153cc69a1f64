import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, Option } from 'commander';
import type { EvidenceRecord, ReplayReport } from '../evidence/evidence-record.js';
import { NotKeptError, writeModel, writeRules } from '../evidence/kept-versions.js';
import { recordedEngines } from '../evidence/recorded-engines.js';
import { replay, whatIf } from '../evidence/replay.js';
import type { Store } from '../store/store.js';
import { type EnginePool, openEnginePool } from '../workers/engine-pool.js';
import { type StoreFlags, withStore, withStoreFlags } from './admin/store-command.js';
import { CliError } from './terminal.js';

interface ReplayFlags extends StoreFlags {
  readonly withRules?: readonly string[];
  readonly withOverlay?: readonly string[] | undefined;
  readonly withModel?: string;
  readonly overlay?: readonly string[];
  readonly operatingPoint?: string;
}

/** 2 is for mistakes, as everywhere. */
const EXIT_CODES = { identical: 0, different: 1, impossible: 3 } as const;

async function otherwise(store: Store, record: EvidenceRecord, flags: ReplayFlags): Promise<ReplayReport> {
  const { mode, rules_version, ml_version } = record.verdict;
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-replay-'));
  let pool: EnginePool | undefined;
  try {
    const written = flags.withRules === undefined ? await writeRules(store.versions, rules_version, folder) : undefined;
    if (mode !== 'rules' && flags.withModel === undefined) await writeModel(store.versions, ml_version, folder);
    const opened = await openEnginePool({
      packs: flags.withRules ?? written?.packs,
      overlays: flags.withOverlay ?? written?.overlays,
      today: written?.today,
      model: mode === 'rules' ? false : (flags.withModel ?? folder),
      mode,
      thresholds: flags.operatingPoint === undefined ? undefined : { model: flags.operatingPoint },
    });
    pool = opened;
    return await whatIf(record, ({ input, channel, task }) => opened.score(input, { mode, channel, task }));
  } catch (error) {
    if (!(error instanceof NotKeptError)) throw error;
    return { outcome: 'impossible', notes: [`It cannot be screened again: ${error.message}.`], verdict: null };
  } finally {
    await pool?.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function findRecord(store: Store, id: string): Promise<EvidenceRecord> {
  if (!/^ev_[0-9a-f]{24}$/.test(id)) throw new CliError('an evidence id is ev_ followed by 24 hex digits');
  const record = await store.evidence.find(id);
  if (record === undefined) throw new CliError(`no evidence "${id}" in this database; retention may have removed it`);
  return record;
}

function shown(id: string, { verdict: then }: EvidenceRecord, report: ReplayReport, isOther: boolean): string {
  const now = report.verdict;
  const said = now === null ? '' : `, ${then.verdict} then, ${now.verdict} ${isOther ? 'with what was given' : 'now'}`;
  return [`${id}: ${report.outcome}${said}`, ...report.notes.map((note) => `  ${note}`)].join('\n');
}

function run(id: string, given: ReplayFlags): Promise<void> {
  const flags = { ...given, withOverlay: given.withOverlay ?? given.overlay };
  return withStore(flags, async (store) => {
    const record = await findRecord(store, id);
    const isOther =
      flags.withRules !== undefined ||
      flags.withOverlay !== undefined ||
      flags.withModel !== undefined ||
      flags.operatingPoint !== undefined;
    const recorded = recordedEngines(store.versions);
    try {
      const report = isOther ? await otherwise(store, record, flags) : await replay(record, recorded.screen);
      const text = flags.json
        ? JSON.stringify({ evidence_id: id, ...report, recorded: record.verdict }, null, 2)
        : shown(id, record, report, isOther);
      process.stdout.write(`${text}\n`);
      process.exitCode = EXIT_CODES[report.outcome];
    } finally {
      await recorded.close();
    }
  });
}

/** `portcullis replay`: screens a stored input again; exit code 0 identical, 1 different, 2 an error, 3 impossible. */
export function replayCommand(): Command {
  return withStoreFlags(
    new Command('replay')
      .description(
        'screen a stored input again with the recorded versions; exits with 0 if identical, 1 if different, 2 for an error, 3 if it cannot be replayed',
      )
      .argument('<evidence-id>', 'ev_ followed by 24 hex digits'),
  )
    .option('--with-rules <folder...>', 'use these packs instead of the recorded ones')
    .option('--with-overlay <file...>', 'use these overlays instead of the recorded ones')
    .addOption(new Option('--overlay <file...>').hideHelp())
    .option('--operating-point <name>', 'use this operating point instead of the recorded one')
    .option('--with-model <folder>', 'use this model instead of the recorded one')
    .action(run);
}
