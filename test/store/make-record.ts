import { randomBytes } from 'node:crypto';
import type { EvidenceLabel, EvidenceRecord, KeptInput } from '../../src/evidence/evidence-record.js';

/** What a test wants to say of a record; the rest is filled in. */
export interface RecordWish {
  readonly accountId: string;
  readonly keyId?: string | null;
  readonly id?: string;
  readonly time?: number;
  readonly text?: string | null;
  /** A rule's id makes it a block. */
  readonly rule?: string;
  readonly decidedBy?: EvidenceRecord['verdict']['decided_by'];
  readonly routerLevel?: EvidenceRecord['router_level'];
  readonly channel?: EvidenceRecord['channel'];
  readonly task?: EvidenceRecord['task'];
  readonly modelVerdict?: EvidenceRecord['model']['verdict'];
  readonly latencyMs?: number;
  readonly label?: EvidenceLabel | null;
}

/** A complete record. */
export function makeRecord(wish: RecordWish): EvidenceRecord {
  const rule = wish.rule ?? 'none';
  const block = rule !== 'none';
  const id = wish.id ?? `ev_${randomBytes(12).toString('hex')}`;
  const text = wish.text === undefined ? 'a text' : wish.text;
  const input: KeptInput = {
    kept: text === null ? 'hash' : 'whole',
    text,
    sha256: '0'.repeat(64),
    length: text?.length ?? 0,
    json: false,
  };
  const score = block ? 0.9 : 0.1;
  return {
    id,
    time: new Date(wish.time ?? Date.now()).toISOString(),
    account_id: wish.accountId,
    key_id: wish.keyId ?? null,
    input,
    verdict: {
      verdict: block ? 'block' : 'allow',
      confidence: score,
      rule,
      reason: block ? 'A sentence.' : null,
      rules_version: '1.0.0+0123456789ab',
      evidence_id: id,
      latency_ms: wish.latencyMs ?? 3,
      score,
      threshold: 0.5,
      decided_by: wish.decidedBy ?? 'rules',
      ml_version: 'off',
      ml_threshold: 0.5,
      mode: 'rules',
    },
    channel: wish.channel ?? 'user',
    ...(wish.task === undefined ? {} : { task: wish.task }),
    router_level: wish.routerLevel ?? 'rules',
    rules: { score, threshold: 0.5, rule: block ? rule : null },
    model: { score: null, verdict: wish.modelVerdict ?? 'off', error: null, windows: [], hotspots: [] },
    findings: [],
    shadow_findings: [],
    unseen: [],
    settings: { portcullis: '1.0.0', rules_threshold: 0.5, paranoia: null, timeout_ms: null },
    replay_digest: `sha256:${'0'.repeat(64)}`,
    label: wish.label ?? null,
  };
}
