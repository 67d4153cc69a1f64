/** Facts of a screening for events and notes. None of them quotes the text. */

import { newEvidenceId } from '../adapters/evidence-id.js';
import { errorCode } from '../engine/errors.js';
import type { Enforcement, GuardEvent, Point } from './policy.js';
import type { Screened } from './screener.js';

/** The reason why there is no verdict. */
export type Failure = 'error' | 'timeout' | 'unreadable';

const REASONS = {
  error: 'The text could not be screened.',
  timeout: 'The text could not be screened in time.',
  unreadable: 'The content has a part that could not be read.',
} as const;

/** The failure behind an error of a screening. A client says `TIMEOUT` where its own deadline passed first. */
export function failureOf(error: unknown): Failure {
  return errorCode(error) === 'TIMEOUT' ? 'timeout' : 'error';
}

/** Everything that an event says of a screening itself. */
export function factsOf(
  found: Screened | Failure,
): Omit<GuardEvent, 'runId' | 'point' | 'tool' | 'action' | 'unreadable' | 'durationMs'> {
  if (typeof found === 'string')
    return {
      evidenceId: newEvidenceId(),
      verdict: 'error',
      cause: found,
      rule: 'none',
      reason: REASONS[found],
      score: null,
      ...{ decidedBy: null, rulesVersion: null, mlVersion: null, findings: [] },
      cached: false,
    };
  const { verdict, findings, cached } = found;
  // An analyzer of the user's own may leave members out.
  return {
    evidenceId: verdict.evidence_id ?? newEvidenceId(),
    verdict: verdict.verdict === 'allow' ? 'allow' : 'block',
    cause: 'verdict',
    rule: verdict.rule ?? 'none',
    reason: verdict.reason ?? null,
    score: verdict.score ?? null,
    decidedBy: verdict.decided_by ?? null,
    rulesVersion: verdict.rules_version ?? null,
    mlVersion: verdict.ml_version ?? null,
    findings,
    cached,
  };
}

const NOTES: Readonly<Record<Point, string>> = {
  user: 'refused',
  tool_call: 'denied',
  tool_result: 'removed',
  document: 'removed',
  tool_definition: 'hidden',
  output: 'removed',
};

/** A note that stands in a text's place. */
export function noteOf(
  point: Point,
  said: string,
  { rule, evidenceId }: Pick<GuardEvent, 'rule' | 'evidenceId'>,
): string {
  return `[${NOTES[point]} by portcullis: ${said} rule=${rule} evidence=${evidenceId}]`;
}

/** The enforcement that an event tells of, with the note that stands in the text's place. */
export function enforcementOf(event: GuardEvent & Pick<Enforcement, 'action' | 'reason'>, note: string): Enforcement {
  const { runId, evidenceId, point, action, cause, rule, reason, flows, judgement, leaks } = event;
  const found = { ...(flows && { flows, judgement }), ...(leaks && { leaks }) };
  return { runId, evidenceId, point, action, cause, rule, reason, note, ...found };
}
