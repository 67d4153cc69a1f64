/** Texts of runs that go on in another process. */
import { cropTask, newestTurns, taskOf } from '../../../engine/input.js';
import { digestInput } from '../../screener.js';
import type { RunText, RunTextLog } from '../run-state.js';
import { type JointEnds, type Joints, jointsOf } from './joints.js';

/**
 * Adds the end of a value to a log, and gives the joints of the value with what the log has before it. One that was read before keeps
 * its task: hosts send the turns of the user again with each step.
 */
export async function joinLogged(log: RunTextLog, runId: string, ends: JointEnds): Promise<Joints> {
  const { name, start, end } = ends;
  const isOwn = (text: RunText): boolean => text.kind === 'read' && text.name === name;
  const known = await log.read(runId, name);
  const at = known.findIndex(isOwn);
  if (at >= 0) return jointsAfter(known.slice(0, at), ends, known[at]?.task);
  // A copy, since a slice keeps the whole text alive.
  const task = structuredClone(taskOf(saidBefore(known)));
  // Nothing said, such as a number of progress, parts no two halves.
  if (end === '') return jointsAfter(known, ends, task);
  await log.add(runId, { kind: 'read', name, text: end, start, task });
  // Another process may have added one meanwhile.
  const now = await log.read(runId, name);
  return jointsAfter(
    now.filter((text) => !isOwn(text)),
    ends,
    (now.find(isOwn) ?? { task }).task,
  );
}

function jointsAfter(before: readonly RunText[], ends: JointEnds, task: string | undefined): Joints {
  const last = before.findLast(({ kind }) => kind === 'read');
  const read = last && { start: last.start, end: last.text };
  return jointsOf(ends, read, task === undefined ? [] : [task]);
}

/** Adds a turn of the user to a log. */
export async function sayLogged(log: RunTextLog, runId: string, turn: string): Promise<void> {
  // A copy, as of a task.
  const text = structuredClone(cropTask(turn));
  if (text !== undefined) await log.add(runId, { kind: 'said', name: digestInput(text, 'user'), text });
}

/** The newest turns of the user among texts, oldest first. */
export function saidBefore(texts: readonly RunText[]): readonly string[] {
  return newestTurns(texts.flatMap(({ kind, text }) => (kind === 'said' ? [text] : [])));
}
