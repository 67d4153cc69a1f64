import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { errorCode, PortcullisError } from '../../engine/errors.js';
import { TASK_LENGTH } from '../../engine/input.js';
import { installationProblems } from '../../engine/rules/pack/pack-error.js';
import { sendJson } from './responses.js';

/** A response that isn't a verdict: its status and one sentence for the caller. The body names the code of a quota, and no other. */
export class HttpError extends PortcullisError {
  override readonly name = 'HttpError';
  readonly status: number;
  /** `HTTP_REFUSED`: the message says why. */
  readonly code: QuotaCode | 'HTTP_REFUSED';
  /** As `http-errors` names them: any error handler may send status and message. */
  readonly statusCode: number;
  readonly expose = true;

  /** `message` is sent to the caller, so it never holds screened text. */
  constructor(status: number, message: string, code: HttpError['code'] = 'HTTP_REFUSED') {
    super(message);
    this.status = status;
    this.statusCode = status;
    this.code = code;
  }
}

/** The error of a call whose client is gone. Nobody reads it, and it isn't logged. */
export function callerLeft(): HttpError {
  return new HttpError(503, 'The caller left.');
}

/** The reason why a plan refuses a call. */
export type QuotaCode =
  /** The account's trial is over. */
  | 'TRIAL_ENDED'
  /** The plan's calls of this month are used up. */
  | 'MONTHLY_LIMIT_REACHED';

/** Fastify's own refusals, in words that quote nothing of the request. */
const ownWords: Readonly<Record<string, string>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'The body must have `Content-Type: application/json`.',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'The body is empty; it must be a JSON object with `input`.',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'The body is not as long as `Content-Length` says.',
  FST_ERR_BAD_URL: 'The path is not a valid URL path.',
};

/** Every error becomes JSON `{ error }`, with `code` for those of the quota; an unknown one a 500 that tells nothing. */
export function answerErrors(app: FastifyInstance, allowed: AllowedMethods): void {
  app.setErrorHandler((error: FastifyError | HttpError, request, reply) => {
    const { status, body } = answerFor(error, request.routeOptions.bodyLimit);
    if (status === 500)
      request.log.error(
        { name: error.name, code: error.code, stack: safeFrames(error), problems: installationProblems(error) },
        'call failed',
      );
    // RFC 9110, 15.5.2
    if (status === 401) reply.header('www-authenticate', 'Bearer');
    sendJson(reply, status, body);
  });
  app.setNotFoundHandler((request, reply) => notFound(request, reply, allowed));
}

interface Answer {
  readonly status: number;
  readonly body: { readonly error: string; readonly code?: string };
}

function answerFor(error: FastifyError | HttpError, bodyLimit: number | undefined): Answer {
  if (error instanceof HttpError) {
    const { status, message, code } = error;
    return { status, body: code === 'HTTP_REFUSED' ? { error: message } : { error: message, code } };
  }
  if (errorCode(error) === 'OVERLOADED')
    return { status: 503, body: { error: 'The service is overloaded; try again in a moment.' } };
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    const most = bodyLimit === undefined ? '' : `: at most ${bodyLimit} bytes`;
    return { status: 413, body: { error: `The body is larger than this service reads${most}.` } };
  }
  if (error.validation !== undefined) return { status: 400, body: { error: invalid(error) } };
  const status = error.statusCode ?? 500;
  if (status < 400 || status >= 500) return { status: 500, body: { error: 'The analysis failed unexpectedly.' } };
  return { status, body: { error: ownWords[error.code] ?? 'The request is not valid.' } };
}

const mistakes: Readonly<Record<string, string>> = {
  '/form': '`form` must be `extended` or `minimal`.',
  '/channel': '`channel` must be `user`, `document`, `tool_result`, `tool_call`, `instructions` or `unknown`.',
  '/task': `\`task\` must be a string of at most ${TASK_LENGTH} UTF-16 code units.`,
  '/explain': '`explain` must be `true` or `false`.',
  '/run_id': '`run_id` must have 1 to 100 letters, digits, `_`, `.`, `:` or `-`.',
  '/tool': '`tool` must be a string of at most 200 UTF-16 code units.',
  '/effect': '`effect` must be `read`, `write`, `send` or `execute`.',
};

function invalid({ validation, validationContext }: FastifyError): string {
  const path = validation?.[0]?.instancePath ?? '';
  if (validationContext === 'querystring') return mistakes[path] ?? 'The query is not valid.';
  if (validationContext !== 'body') return 'The request is not valid.';
  if (path === '') return 'The body is empty; it must be a JSON object with `input`.';
  return mistakes[path] ?? 'The body lacks `input`.';
}

/** 404, 405 with `Allow`, or 204 to a preflight. */
export function notFound(request: FastifyRequest, reply: FastifyReply, allowed: AllowedMethods): FastifyReply {
  const methods = allowed(dropQuery(request.url));
  // A route that found nothing, such as one for files.
  const isThere = request.method !== 'OPTIONS' && methods.includes(request.method);
  if (methods.length === 0 || isThere) return sendJson(reply, 404, { error: 'There is nothing at this path.' });
  if (request.method === 'OPTIONS') {
    return reply
      .code(204)
      .header('access-control-allow-methods', methods.join(', '))
      .header('access-control-allow-headers', 'Authorization, Content-Type')
      .header('access-control-max-age', '86400')
      .send();
  }
  reply.header('allow', methods.join(', '));
  return sendJson(reply, 405, { error: `This path answers ${methods.join(', ')}.` });
}

/** Frames of an error without its message, which may hold a part of the text, in lines that look like frames too. */
function safeFrames(error: Error): readonly string[] {
  const { stack = '', message } = error;
  const said = message === '' ? -1 : stack.indexOf(message);
  return stack
    .slice(said === -1 ? 0 : said + message.length)
    .split('\n')
    .filter((line) => line.startsWith('    at '))
    .slice(0, 8);
}

interface KnownRoute {
  readonly pattern: RegExp;
  readonly methods: readonly string[];
}

/** The methods of a path; empty for an unknown path. `OPTIONS` is always among the others. */
export type AllowedMethods = (path: string) => readonly string[];

/** Watches the routes that are registered after it. */
export function watchMethods(app: FastifyInstance): AllowedMethods {
  const routes: KnownRoute[] = [];
  app.addHook('onRoute', ({ url, method }) => {
    // Files: a path below it is nothing until the file is there.
    if (url.includes('*')) return;
    const source = url.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replace(/:[^/]+/g, '[^/]+');
    routes.push({ pattern: new RegExp(`^${source}$`), methods: [method].flat() });
  });
  return (path) => {
    const methods = new Set(routes.filter(({ pattern }) => pattern.test(path)).flatMap((route) => route.methods));
    return methods.size === 0 ? [] : [...methods.add('OPTIONS')].sort();
  };
}

/** The path of a request's target, which may be a whole URL (RFC 9112, 3.2.2), without its query. */
export function dropQuery(target: string): string {
  const start = /^https?:\/\/[^/?#]*/i.exec(target)?.[0].length ?? 0;
  const end = target.slice(start).search(/[?#]/);
  return (end === -1 ? target.slice(start) : target.slice(start, start + end)) || '/';
}
