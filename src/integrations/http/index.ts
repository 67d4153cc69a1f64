/** Guards routes of Express, Hono and Fastify. Imports nothing of them: their types are met by shape. */

import { checkOptions } from '../../engine/options.js';
import {
  type Decision,
  type Enforcement,
  type Guard,
  type Point,
  PortcullisBlocked,
  passes,
} from '../../policy/index.js';

/** Parts of a request to screen. */
export interface RouteOptions {
  /** The member of the JSON body, e.g. `input` or `message.text`. Default `input`. */
  readonly field?: string | undefined;
  /** Default `user`. */
  readonly point?: Point | undefined;
  /** Lets a request pass that has no such member. Default false: it is refused. */
  readonly optional?: boolean | undefined;
}

interface Refusal {
  readonly error: 'blocked' | 'missing_input';
  readonly reason: string;
  readonly rule?: string;
  readonly evidence_id?: string;
  readonly run_id?: string;
}

type Outcome = { readonly refusal: Refusal } | { readonly body: unknown };

type ScreenBody = (given: unknown, signal?: AbortSignal) => Promise<Outcome>;

function createRoute(name: string, guard: Guard, options: RouteOptions): ScreenBody {
  checkOptions(name, options, { field: true, point: true, optional: true });
  const { field = 'input', point = 'user', optional = false } = options;
  const path = field.split('.');
  return async (given, signal) => {
    const value = memberAt(given, path);
    if (value === undefined) {
      if (optional) return { body: given };
      const reason = `The request has no \`${field}\` to screen. Is its body parsed before the guard?`;
      return { refusal: { error: 'missing_input', reason } };
    }
    let decision: Decision<unknown>;
    try {
      decision = await guard.screen(point, value, { signal });
    } catch (error) {
      if (error instanceof PortcullisBlocked) return { refusal: buildRefusal(error.enforcement) };
      throw error;
    }
    if (!passes(decision)) return { refusal: buildRefusal(decision.enforcement) };
    return { body: decision.value === value ? given : withMember(given, path, decision.value) };
  };
}

/**
 * A middleware for Express 4 and 5; put it after the body parser.
 *
 * @throws TypeError for an option that does not exist
 *
 * @example
 * ```ts
 * app.post('/chat', express.json(), guardExpress(guard, { field: 'message.text' }), answer);
 * ```
 */
export function guardExpress(
  guard: Guard,
  options: RouteOptions = {},
): (
  request: { body?: unknown },
  response: { status(code: number): { json(body: unknown): unknown } },
  next: (error?: unknown) => void,
) => Promise<void> {
  const screenBody = createRoute('guardExpress', guard, options);
  return async (request, response, next) => {
    let outcome: Outcome;
    try {
      outcome = await screenBody(request.body);
    } catch (error) {
      next(error);
      return;
    }
    if ('refusal' in outcome) {
      response.status(422).json(outcome.refusal);
      return;
    }
    if (outcome.body !== request.body) request.body = outcome.body;
    next();
  };
}

/** Members of Hono's context that the middleware uses. */
export interface HonoContext {
  readonly req: { raw: Request; json(): Promise<unknown>; bodyCache: object };
  json(body: object, status: 422): Response;
}

/**
 * A middleware for Hono.
 *
 * @throws TypeError for an option that does not exist
 *
 * @example
 * ```ts
 * app.post('/chat', guardHono(guard, { field: 'message.text' }), answer);
 * ```
 */
export function guardHono(
  guard: Guard,
  options: RouteOptions = {},
): <C extends HonoContext>(context: C, next: () => Promise<void>) => Promise<Response | undefined> {
  const screenBody = createRoute('guardHono', guard, options);
  return async (context, next) => {
    const { req } = context;
    // A copy is read: a route may read or forward `req.raw` itself.
    const given = await (req.raw.bodyUsed ? req : req.raw.clone()).json().catch(() => undefined);
    const outcome = await screenBody(given, req.raw.signal);
    if ('refusal' in outcome) return context.json(outcome.refusal, 422);
    if (outcome.body !== given) {
      const { method, url, signal } = req.raw;
      const headers = new Headers(req.raw.headers);
      headers.delete('content-length');
      req.raw = new Request(url, { method, headers, signal, body: JSON.stringify(outcome.body) });
      req.bodyCache = {};
    }
    await next();
    return undefined;
  };
}

/**
 * A `preHandler` for Fastify 5.
 *
 * @throws TypeError for an option that does not exist
 *
 * @example
 * ```ts
 * app.post('/chat', { preHandler: guardFastify(guard, { field: 'message.text' }) }, answer);
 * ```
 */
export function guardFastify(
  guard: Guard,
  options: RouteOptions = {},
): (request: { body: unknown }, reply: { code(status: number): { send(body: unknown): unknown } }) => Promise<unknown> {
  const screenBody = createRoute('guardFastify', guard, options);
  return async (request, reply) => {
    const outcome = await screenBody(request.body);
    if ('refusal' in outcome) return reply.code(422).send(outcome.refusal);
    if (outcome.body !== request.body) request.body = outcome.body;
    return undefined;
  };
}

function buildRefusal({ reason, rule, evidenceId, runId }: Enforcement): Refusal {
  return { error: 'blocked', reason, rule, evidence_id: evidenceId, run_id: runId };
}

function memberAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (at, name) =>
      typeof at === 'object' && at !== null && Object.hasOwn(at, name)
        ? (at as Record<string, unknown>)[name]
        : undefined,
    value,
  );
}

function withMember(value: unknown, [name, ...rest]: readonly string[], member: unknown): unknown {
  if (name === undefined) return member;
  const object = value as Record<string, unknown>;
  return { ...object, [name]: withMember(object[name], rest, member) };
}
