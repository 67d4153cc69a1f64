/** Attacks in pieces: what a text of a run says together with what the run read before. */
import { newEvidenceId } from '../../adapters/evidence-id.js';
import { type Channel, TASK_CHANNELS } from '../../engine/channel.js';
import type { ExplainedVerdict } from '../../engine/explain.js';
import { type Input, JsonText } from '../../engine/input.js';
import { judgeJoints } from '../../policy/judge-content.js';
import { type JointEnds, type Joints, readEnds } from '../../policy/run/pieces/joints.js';
import { joinLogged } from '../../policy/run/pieces/run-texts.js';
import type { RunTextLog } from '../../policy/run/run-state.js';
import { createScreener } from '../../policy/screener.js';
import { LONG } from '../long-texts/long-text-job.js';
import type { LongTexts } from '../long-texts/long-texts.js';
import { toPlain } from '../long-texts/plain-input.js';

/** A verdict on pieces together, and their text. */
export interface ScoredJoints {
  readonly input: string;
  readonly explained: ExplainedVerdict;
}

/** Whoever asks sets the deadline. */
const NO_DEADLINE_MS = 2 ** 31 - 1;

/** The joints of data with what its run read before; undefined for any other text. */
export async function readJoints(
  { texts, longTexts }: { readonly texts: RunTextLog; readonly longTexts?: LongTexts | undefined },
  tenant: string,
  runId: string,
  { input, channel }: { readonly input: Input; readonly channel?: Channel | undefined },
): Promise<Joints | undefined> {
  if (!TASK_CHANNELS.has(channel)) return undefined;
  // An input that is no `JsonText` came in a short body.
  const plain = typeof input === 'string' || input instanceof JsonText ? toPlain(input) : undefined;
  const ends =
    longTexts !== undefined && plain !== undefined && plain.text.length > LONG
      ? ((await longTexts.run({ kind: 'ends', input: plain }, { tenant })) as JointEnds)
      : readEnds(input);
  return joinLogged(texts, runId, ends);
}

/** The verdict on pieces that are blocked together, and none of them alone. */
export async function scoreJoints(
  joints: Joints,
  about: { readonly channel: Channel; readonly task: string | undefined },
  score: (input: Input, evidenceId: string) => Promise<ExplainedVerdict>,
): Promise<ScoredJoints | undefined> {
  const scored = new Map<string, ScoredJoints>();
  const analyze = async (given: Input): Promise<ExplainedVerdict> => {
    const explained = await score(given, newEvidenceId());
    scored.set(explained.evidence_id, { input: String(given), explained });
    return explained;
  };
  const screener = createScreener(() => ({ analyze }), NO_DEADLINE_MS, {});
  const own = { take: () => undefined };
  const halved = await judgeJoints({ screener, own }, joints, about, NO_DEADLINE_MS);
  return halved && scored.get(halved.verdict.evidence_id);
}
