import { hash } from 'node:crypto';
import type { Keep, KeptInput } from './evidence-record.js';
import { masked } from './mask.js';

/** What an account's setting leaves of a text that was screened. `json`: the caller sent another JSON value than a string. */
export function keepInput(text: string, json: boolean, keep: Keep): KeptInput {
  return {
    kept: keep,
    text: keep === 'whole' ? text : keep === 'masked' ? masked(text) : null,
    sha256: hash('sha256', text),
    length: text.length,
    json,
  };
}
