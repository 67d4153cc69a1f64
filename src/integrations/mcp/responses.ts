import type { Enforcement } from '../../policy/index.js';
import { isObject, type JsonObject, type MessageId } from './messages.js';
import type { Asked } from './requests.js';

export const PARSE_ERROR = -32_700;
export const INVALID_REQUEST = -32_600;
export const INTERNAL_ERROR = -32_603;
/** The code of a request or response that was refused. */
export const REFUSED = -32_000;

/** Methods with the result of a tool. */
const TOOL_METHODS = new Set(['tools/call', 'tasks/result']);

/** An error response. */
export function errorResponse(id: MessageId | null, code: number, message: string, data?: unknown): JsonObject {
  return { jsonrpc: '2.0', id, error: { code, message, ...(data === undefined ? {} : { data }) } };
}

/** The response in place of a refused request or result, in the form that its method has. */
export function refusal(
  id: MessageId | null,
  { note, runId, evidenceId, rule, cause, action }: Enforcement,
  asked: Asked | undefined,
  result?: unknown,
): JsonObject {
  const proof = { runId, evidenceId, rule, cause, action };
  const isTool = asked === undefined ? isObject(result) && 'content' in result : TOOL_METHODS.has(asked.method);
  return isTool ? toolRefusal(id, note, asked, proof, result) : errorResponse(id, REFUSED, note, { portcullis: proof });
}

/** A result of a tool that says why there is none. */
export function toolRefusal(
  id: MessageId | null,
  note: string,
  asked: Asked | undefined,
  proof?: JsonObject,
  result?: unknown,
): JsonObject {
  const isModern = asked?.isModern ?? (isObject(result) && 'resultType' in result);
  return {
    jsonrpc: '2.0',
    id,
    result: {
      ...(isModern ? { resultType: 'complete' } : {}),
      content: [{ type: 'text', text: note }],
      // Without it a client checks the result against the tool's output schema.
      isError: true,
      ...(proof === undefined ? {} : { _meta: { 'portcullis/enforcement': proof } }),
    },
  };
}
