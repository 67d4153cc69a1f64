import { type JsonProblem, readJson } from '../../engine/read-json.js';
import { HttpError } from './http-error.js';

/** Arrays and objects inside one another. Deeper text can't be meant, and would cost the reader its stack. */
const MAX_JSON_DEPTH = 64;

/** Number of JSON values in a body that are read and written in canonical form in about ten milliseconds. */
const MAX_JSON_VALUES = 20_000;

// Invalid UTF-8 becomes U+FFFD: what is screened is what any other reader of these bytes would show.
const decoder = new TextDecoder('utf-8');

/**
 * The object in a JSON body. A repeated name is refused: JSON.parse keeps the last one, other readers the first, and
 * the text that isn't screened would reach the tool. A number that no double holds (`1e400`, 20 digits) is a `JsonNumber`.
 *
 * @param wanted what the body must be, for the message
 * @throws HttpError 400 that names the position or the type, never the text
 */
export function readJsonObject(body: Uint8Array, wanted: string): object {
  const text = decoder.decode(body);
  if (text.trim() === '') throw new HttpError(400, `The body is empty; it must be ${wanted}.`);
  const reading = readJson(text, { depth: MAX_JSON_DEPTH, values: MAX_JSON_VALUES, exact: true });
  if ('problem' in reading) throw new HttpError(400, mistake(reading, text));
  const { value, repeated } = reading;
  if (repeated !== undefined)
    throw new HttpError(400, `The body repeats a name of the same object at position ${repeated}.`);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  const type = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`;
  throw new HttpError(400, `The body is ${type}; it must be ${wanted}.`);
}

function mistake({ problem, position }: JsonProblem, text: string): string {
  if (problem === 'depth') return `The body is nested deeper than ${MAX_JSON_DEPTH} levels at position ${position}.`;
  if (problem === 'values') return `The body holds more than ${MAX_JSON_VALUES} values at position ${position}.`;
  const ends = position >= text.length;
  return `The body is not JSON: ${ends ? 'it ends' : 'unexpected character'} at position ${position}.`;
}
