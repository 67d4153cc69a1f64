import { HttpError } from './http-error.js';
import { jsonMistake } from './json-mistake.js';
import { jsonProblem } from './json-problem.js';

/** Arrays and objects inside one another. Deeper text can't be meant, and would cost the reader its stack. */
const MAX_JSON_DEPTH = 64;

// Invalid UTF-8 becomes U+FFFD: what is screened is what any other reader of these bytes would show.
const decoder = new TextDecoder('utf-8');

/**
 * The value of a JSON body. A repeated name is refused: JSON.parse keeps the last one, other readers the first, and
 * the text that isn't screened would reach the tool.
 *
 * @throws HttpError 400 that names the position, never the text
 */
export function readJson(body: Buffer): unknown {
  const text = decoder.decode(body);
  if (text.trim() === '') throw new HttpError(400, 'The body is empty; it must be a JSON object with `input`.');
  // Before JSON.parse: a million brackets take it a quarter of a second.
  const problem = jsonProblem(text, MAX_JSON_DEPTH);
  if (problem?.kind === 'depth')
    throw new HttpError(
      400,
      `The body is nested deeper than ${MAX_JSON_DEPTH} levels at position ${problem.position}.`,
    );
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new HttpError(400, `The body is not JSON: ${mistakeIn(text)}.`);
  }
  if (problem?.kind === 'duplicate')
    throw new HttpError(400, `The body repeats a name of the same object at position ${problem.position}.`);
  return value;
}

function mistakeIn(text: string): string {
  const position = jsonMistake(text);
  return position >= text.length ? `it ends at position ${position}` : `unexpected character at position ${position}`;
}
