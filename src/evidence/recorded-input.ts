import { hash } from 'node:crypto';
import type { Input } from '../engine/input.js';
import type { EvidenceRecord } from './evidence-record.js';

/** The input of a record, or one sentence why it can't be had. */
export type RecordedInput = { readonly input: Input } | { readonly missing: string };

/** What was sent, as far as the account kept it. */
export function recordedInput({ input }: Pick<EvidenceRecord, 'input'>): RecordedInput {
  const { kept, text, sha256, json } = input;
  if (kept === 'masked') return { missing: 'the account kept the input masked' };
  if (text === null || kept !== 'whole') return { missing: 'the account kept the input as its SHA-256 only' };
  if (hash('sha256', text) !== sha256) return { missing: 'the input kept no longer has the SHA-256 that was recorded' };
  return { input: json ? (JSON.parse(text) as Input) : text };
}
