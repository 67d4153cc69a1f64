import { appendFileSync } from 'node:fs';
import { errorCode } from '../engine/errors.js';

/** Appends events to a file as lines of JSON, with their time. Where that fails, standard error says why, once. */
export function createEventFile(file: string | undefined): (event: object) => void {
  let fails = file === undefined;
  return (event) => {
    if (file === undefined || fails) return;
    try {
      appendFileSync(file, `${JSON.stringify({ time: new Date().toISOString(), ...event })}\n`, { mode: 0o600 });
    } catch (error) {
      fails = true;
      const code = errorCode(error) || 'unknown error';
      process.stderr.write(`portcullis: the report ${file} can't be written (${code}); continuing without it\n`);
    }
  };
}
