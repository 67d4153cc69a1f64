import type { Input } from '../engine/input.js';
import type { Channel } from '../engine/rules/types.js';
import type { Mode, Verdict } from '../engine/verdict.js';
import type { EvidenceRecord } from './evidence-record.js';
import { recordedInput } from './recorded-input.js';
import { differences } from './replay.js';
import type { ReplayReport } from './replay-report.js';

/** Screens by other rules or another model. */
export type ScreenOtherwise = (
  input: Input,
  options: { readonly mode: Mode; readonly channel: Channel },
) => Promise<Verdict>;

/** What other rules or another model would have said of a record's input. `identical`: the same verdict by the same rule and score. */
export async function whatIf(record: EvidenceRecord, screen: ScreenOtherwise): Promise<ReplayReport> {
  const found = recordedInput(record);
  if ('missing' in found)
    return { outcome: 'impossible', notes: [`It can’t be screened again: ${found.missing}.`], verdict: null };
  const { channel, verdict } = record;
  const said = await screen(found.input, { mode: verdict.mode, channel });
  const notes = differences(verdict, said);
  // Other versions are the point of it.
  const outcome = notes.every((note) => /^(rules|ml)_version:/.test(note)) ? 'identical' : 'different';
  return { outcome, notes, verdict: said };
}
