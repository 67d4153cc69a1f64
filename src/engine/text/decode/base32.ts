import type { Replacement } from '../replacement.js';
import type { Features } from '../scan-features.js';
import { bytesRun } from './bytes-run.js';

const RUN = /[A-Z2-7]{16,}={0,6}(?![A-Za-z0-9])/y;

/** Reads base32. @see RFC 4648, section 6 */
export function decodeBase32(text: string, { codeRuns }: Features): readonly Replacement[] {
  const found: Replacement[] = [];
  for (let k = 0; k < codeRuns.length; k += 2) {
    const start = codeRuns[k] as number;
    RUN.lastIndex = start;
    const run = RUN.exec(text)?.[0];
    const read = run === undefined ? undefined : readRun(run, start);
    if (read !== undefined) found.push(read);
  }
  return found;
}

function readRun(run: string, start: number): Replacement | undefined {
  const bytes = new Uint8Array((run.length * 5) >> 3);
  const at = new Int32Array(bytes.length);
  let bits = 0;
  let held = 0;
  let size = 0;
  let first = start;
  for (let i = 0; i < run.length; i += 1) {
    const unit = run.charCodeAt(i);
    if (unit === 0x3d) break;
    bits = ((bits << 5) | (unit >= 0x41 ? unit - 0x41 : unit - 0x18)) & 0xffff;
    held += 5;
    if (held < 8) {
      if (held === 5) first = start + i;
      continue;
    }
    held -= 8;
    bytes[size] = (bits >> held) & 0xff;
    at[size] = first;
    size += 1;
    first = start + i + (held === 0 ? 1 : 0);
  }
  return bytesRun({ start, end: start + run.length }, bytes.subarray(0, size), at, 'base32');
}
