import type { EvidenceFinding, EvidenceRecord, Keep, ReplaySettings } from '../evidence/evidence-record.js';
import { keepInput } from '../evidence/keep-input.js';
import { replayDigest } from '../evidence/replay-digest.js';
import type { ExplainedFinding, Explanation, Verdict } from '../index.js';

/** A call that was screened. */
export interface ScreenedCall {
  readonly time: Date;
  readonly accountId: string;
  /** Null for a call from the dashboard's playground. */
  readonly keyId: string | null;
  /** The text that was screened; spans of the explanation are in it. */
  readonly text: string;
  /** Whether the caller sent another JSON value than a string. */
  readonly json: boolean;
  readonly keep: Keep;
  readonly verdict: Verdict;
  readonly explanation: Explanation;
  readonly settings: ReplaySettings;
}

/** The evidence of a call, with as much of the text as the account keeps. */
export function recordOf(call: ScreenedCall): EvidenceRecord {
  const { verdict, explanation } = call;
  return {
    id: verdict.evidence_id,
    time: call.time.toISOString(),
    account_id: call.accountId,
    key_id: call.keyId,
    input: keepInput(call.text, call.json, call.keep),
    verdict,
    channel: explanation.channel,
    router_level: explanation.router_level,
    rules: explanation.rules,
    model: explanation.model,
    findings: explanation.findings.map(withoutExcerpt),
    shadow_findings: explanation.shadow_findings.map(withoutExcerpt),
    unseen: explanation.unseen,
    settings: call.settings,
    replay_digest: replayDigest(verdict),
    label: null,
  };
}

function withoutExcerpt({ excerpt: _excerpt, ...finding }: ExplainedFinding): EvidenceFinding {
  return finding;
}
