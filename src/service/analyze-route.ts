import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { type Input, toMinimal } from '../index.js';
import type { Admission } from './admission.js';
import {
  analyzeBodySchema,
  analyzeQuerySchema,
  errorSchema,
  quotaErrorSchema,
  verdictAnswerSchema,
} from './api-schemas.js';
import { bearerKey } from './bearer-key.js';
import { HttpError } from './http-error.js';
import type { FindKey } from './key-cache.js';
import { recentVerdicts } from './recent-verdicts.js';
import { refuseCodings } from './refuse-codings.js';
import { quotaHeaders, verdictHeaders } from './response-headers.js';
import type { Scorers } from './scorers.js';
import { screenCall } from './screen-call.js';
import type { KeyOwner, ScreeningStore } from './screening-store.js';
import { sendJson } from './send-json.js';
import type { ServiceMetrics } from './service-metrics.js';
import { validateCall } from './validate-call.js';

/** What a screening call goes through. */
export interface AnalyzeParts {
  readonly store: ScreeningStore;
  readonly findKey: FindKey<KeyOwner>;
  readonly scorers: Scorers;
  readonly admission: Admission;
  readonly metrics: ServiceMetrics;
  readonly now: () => Date;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose call it is, once its key was found. */
    owner: KeyOwner | null;
  }
}

/** `POST /analyze` and its alias. The quota is charged before the body is read: a call with a bad body counts too. */
export function analyzeRoutes(app: FastifyInstance, parts: AnalyzeParts): void {
  const { store, findKey, scorers, admission, metrics, now } = parts;
  const recent = recentVerdicts();
  app.decorateRequest('owner', null);

  async function admit(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const owner = await findKey(bearerKey(request.raw));
    if (owner === undefined) throw new HttpError(401, 'The API key is not valid.');
    const leave = admission.enter();
    metrics.underWay.inc();
    reply.raw.once('close', () => {
      metrics.underWay.dec();
      leave();
    });
    request.owner = owner;
    const charge = await store.usage.charge(owner.account.id, now().getTime());
    quotaHeaders(reply, charge);
    if (charge.allowed) return;
    if (charge.code === 'TRIAL_ENDED')
      throw new HttpError(402, 'The trial has ended; choose a plan to continue.', 'TRIAL_ENDED');
    reply.header('retry-after', String(charge.resetSeconds));
    throw new HttpError(
      429,
      'The calls of this month are used up and no overage credits remain; buy a pack or upgrade the plan.',
      'MONTHLY_LIMIT_REACHED',
    );
  }

  const schema = {
    operationId: 'analyze',
    summary: 'Screen one input',
    querystring: analyzeQuerySchema,
    body: analyzeBodySchema,
    response: {
      200: verdictAnswerSchema,
      400: errorSchema,
      401: errorSchema,
      402: quotaErrorSchema,
      408: errorSchema,
      413: errorSchema,
      415: errorSchema,
      429: quotaErrorSchema,
      431: errorSchema,
      500: errorSchema,
      503: errorSchema,
    },
  };

  for (const url of ['/analyze', '/v30/analyze']) {
    app.withTypeProvider<ZodTypeProvider>().route({
      method: 'POST',
      url,
      schema: url === '/analyze' ? schema : { ...schema, operationId: 'analyzeV30', summary: 'Alias of `/analyze`' },
      validatorCompiler: validateCall,
      onRequest: admit,
      preParsing: refuseCodings,
      handler: async (request, reply) => {
        const { owner } = request;
        if (owner === null) throw new Error('a call without an owner');
        const input = request.body.input as Input;
        const { account, key } = owner;
        const caller = { accountId: account.id, keyId: key.id, keep: account.settings.keep };
        const { verdict, explanation } = await screenCall({ store, scorers, now, recent }, caller, input);
        const time = now();
        store.keys.used(key.id, time.getTime());
        metrics.decided(verdict.verdict, verdict.decided_by, explanation.router_level);
        verdictHeaders(reply, explanation, time.getTime());
        const form = request.query.form ?? account.settings.verdictForm;
        return sendJson(reply, 200, form === 'minimal' ? toMinimal(verdict) : verdict);
      },
    });
  }
}
