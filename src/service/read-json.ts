import { HttpError } from './http-error.js';
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
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new HttpError(400, `The body is not JSON: ${whereOf(error, text)}.`);
  }
  const problem = jsonProblem(text, MAX_JSON_DEPTH);
  if (problem?.kind === 'depth')
    throw new HttpError(
      400,
      `The body is nested deeper than ${MAX_JSON_DEPTH} levels at position ${problem.position}.`,
    );
  if (problem?.kind === 'duplicate')
    throw new HttpError(400, `The body repeats a name of the same object at position ${problem.position}.`);
  return value;
}

/** Longer texts aren't searched for their mistake: that parses them seventeen times. */
const SEARCHED_LENGTH = 131_072;

/** V8 quotes the text in its messages: only the position may leave. */
function whereOf(error: unknown, text: string): string {
  const position = positionIn(error) ?? (text.length <= SEARCHED_LENGTH ? firstWrong(text) : undefined);
  if (position === undefined) return 'unexpected character';
  return position >= text.length ? `it ends at position ${position}` : `unexpected character at position ${position}`;
}

function positionIn(error: unknown): number | undefined {
  const found = /at position (\d+)/.exec(error instanceof Error ? error.message : '')?.[1];
  return found === undefined ? undefined : Number(found);
}

/** Not every message of V8 has a position. Beginnings of the text are only unfinished up to it, and wrong after it. */
function firstWrong(text: string): number {
  let [good, wrong] = [0, text.length + 1];
  while (wrong - good > 1) {
    const middle = (good + wrong) >> 1;
    if (isUnfinished(text.slice(0, middle))) good = middle;
    else wrong = middle;
  }
  return good;
}

function isUnfinished(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    if (!(error instanceof Error)) return false;
    return /end of JSON|Unterminated/.test(error.message) || positionIn(error) === text.length;
  }
}
