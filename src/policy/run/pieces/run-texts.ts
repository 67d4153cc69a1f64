/** Texts of runs that go on in another process. */
import { cropTask, newestTurns } from '../../../engine/input.js';
import { digestInput } from '../../screener.js';
import type { RunText, RunTextLog } from '../run-state.js';
import { type JointEnds, type Joints, jointsOf } from './joints.js';

/** Adds the end of a value to a log, and gives the joints of the value with what the log has before it. */
export async function joinLogged(log: RunTextLog, runId: string, ends: JointEnds): Promise<Joints> {
  const before = await textsBefore(log, runId, ends);
  const end = before.findLast(({ kind }) => kind === 'read')?.text ?? '';
  return jointsOf(ends, end, saidBefore(before));
}

async function textsBefore(log: RunTextLog, runId: string, { name, end }: JointEnds): Promise<readonly RunText[]> {
  const isOwn = (text: RunText): boolean => text.kind === 'read' && text.name === name;
  const known = await log.read(runId, name);
  const at = known.findIndex(isOwn);
  if (at >= 0) return known.slice(0, at);
  // Nothing said, such as a number of progress, parts no two halves.
  if (end === '') return known;
  await log.add(runId, { kind: 'read', name, text: end });
  // Another process may have added one meanwhile.
  return (await log.read(runId, name)).filter((text) => !isOwn(text));
}

/** Adds a turn of the user to a log. */
export async function sayLogged(log: RunTextLog, runId: string, turn: string): Promise<void> {
  const text = cropTask(turn);
  if (text !== undefined) await log.add(runId, { kind: 'said', name: digestInput(text, 'user'), text });
}

/** The newest turns of the user among texts, oldest first. */
export function saidBefore(texts: readonly RunText[]): readonly string[] {
  return newestTurns(texts.flatMap(({ kind, text }) => (kind === 'said' ? [text] : [])));
}
