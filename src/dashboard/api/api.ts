import type { FastifyInstance } from 'fastify';
import { validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod';
import { errorCode } from '../../engine/errors.js';
import { installationProblems } from '../../engine/rules/pack/pack-error.js';
import { accountRoutes, keyRoutes, planRoutes } from './account-routes.js';
import { ApiError, type DashboardParts } from './api-parts.js';
import { auditChanges } from './audit.js';
import { evidenceRoutes } from './evidence-routes.js';
import { flowRoutes } from './flow-routes.js';
import { memberRoutes } from './member-routes.js';
import { operationsRoutes } from './operations-routes.js';
import { overlayRoutes } from './overlay-routes.js';
import { overviewRoutes } from './overview-routes.js';
import { reviewRoutes } from './review-routes.js';
import { ruleRoutes } from './rule-routes.js';
import { secondFactorRoutes } from './sign-in/second-factor.js';
import { guard, noteSecurity } from './sign-in/session.js';
import { signInRoutes } from './sign-in/sign-in-routes.js';

/** Of what a form sends; an overlay of the greatest length fits, whatever its characters. A text to screen may be longer. */
const MAX_BODY_BYTES = 128 * 1024;

/** The JSON routes behind the page. Errors are `{ error }`. */
export async function dashboardApi(scope: FastifyInstance, parts: DashboardParts): Promise<void> {
  const app = scope.withTypeProvider<ZodTypeProvider>();
  app.setValidatorCompiler(validatorCompiler);
  app.decorateRequest('dashboardMember', null);
  noteSecurity(app, parts.publicUrl);
  app.addHook('onRoute', (route) => {
    if (!route.url.endsWith('/playground'))
      route.bodyLimit = Math.min(MAX_BODY_BYTES, scope.initialConfig.bodyLimit ?? MAX_BODY_BYTES);
  });
  app.addHook('onSend', async (_request, reply) => {
    reply.header('Cache-Control', 'no-store');
  });
  app.addHook('preValidation', async ({ query, params, body, routeOptions }) => {
    // PostgreSQL cannot store NUL in a text; screened texts are stored in another form.
    if (routeOptions.url?.endsWith('/playground') !== true && holdsNul([query, params, body]))
      throw new ApiError(400, 'The request contains a NUL character.');
  });
  app.setErrorHandler(
    (error: Error & { readonly statusCode?: number; readonly validation?: unknown }, request, reply) => {
      if (error instanceof ApiError || 'expose' in error)
        return reply.code(error.statusCode ?? 400).send({ error: error.message, ...namedCode(error) });
      if (Array.isArray(error.validation)) return reply.code(400).send({ error: firstIssue(error.validation) });
      if (errorCode(error) === 'OVERLOADED')
        return reply
          .code(503)
          .send({ error: 'Too many requests of this account are in progress; try again in a moment.' });
      const status = error.statusCode ?? 500;
      if (status === 413) return reply.code(413).send({ error: 'The request is too large.' });
      if (status < 500) return reply.code(status).send({ error: 'The request cannot be read.' });
      request.log.error(
        { name: error.name, code: 'code' in error ? error.code : undefined, problems: installationProblems(error) },
        'dashboard request failed',
      );
      return reply.code(500).send({ error: 'Something failed here. Try again.' });
    },
  );
  app.setNotFoundHandler((_request, reply) => reply.code(404).send({ error: 'There is no such route.' }));

  await app.register(async (open) => signInRoutes(open.withTypeProvider<ZodTypeProvider>(), parts));
  await app.register(async (inner) => {
    const guarded = inner.withTypeProvider<ZodTypeProvider>();
    guard(guarded, parts);
    auditChanges(guarded, parts);
    planRoutes(guarded, parts);
    accountRoutes(guarded, parts);
    await memberRoutes(guarded, parts);
    keyRoutes(guarded, parts);
    evidenceRoutes(guarded, parts);
    flowRoutes(guarded, parts);
    operationsRoutes(guarded, parts);
    secondFactorRoutes(guarded, parts);
    overlayRoutes(guarded, parts);
    overviewRoutes(guarded, parts);
    reviewRoutes(guarded, parts);
    ruleRoutes(guarded, parts);
  });
}

const namedCode = (error: Error): { readonly code?: string } =>
  error instanceof ApiError && error.code !== 'API_REFUSED' ? { code: error.code } : {};

/** Fields by the names that the page's forms give them. */
const fieldNames: Readonly<Record<string, string>> = {
  account: 'Account',
  code: 'Code',
  events: 'Events',
  note: 'Note',
  source: 'Overlay',
  threshold: 'Threshold',
  url: 'URL',
  current: 'Current password',
  email: 'E-mail',
  from: 'From',
  graceSeconds: 'Grace period',
  keyId: 'Key',
  name: 'Name',
  next: 'New password',
  packs: 'Packs',
  password: 'Password',
  retentionDays: 'Days',
  rule: 'Rule',
  text: 'Words in the text',
  to: 'Before',
};

/** The first thing wrong with a request: the field as the page names it and what is wrong, never the value. */
function firstIssue(issues: readonly unknown[]): string {
  const first = issues[0];
  if (typeof first !== 'object' || first === null || !('message' in first)) return 'The request is not valid.';
  const message = String(first.message);
  const path = 'instancePath' in first ? String(first.instancePath).replace(/^\//, '') : '';
  const name = fieldNames[path];
  return name === undefined ? message : `${name}: ${message.charAt(0).toLowerCase()}${message.slice(1)}`;
}

function holdsNul(value: unknown): boolean {
  if (typeof value === 'string') return value.includes('\0');
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsNul);
}
