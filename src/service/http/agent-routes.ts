import { AsyncResource } from 'node:async_hooks';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { cropTask, inputText } from '../../engine/input.js';
import type { EvidenceRecord } from '../../evidence/evidence-record.js';
import type { Policy } from '../../policy/index.js';
import { digestInput } from '../../policy/screener.js';
import { LONG } from '../long-texts/long-text-job.js';
import type { KeyOwner } from '../screening/ports.js';
import { screenCall } from '../screening/screen-call.js';
import type { Place } from './admission.js';
import { type AgentAnalyzer, type AgentCall, answerAgent, notTaken } from './agent-answers.js';
import {
  hookAnswerSchema,
  hookBodySchema,
  hookQuerySchema,
  liteLlmAnswerSchema,
  liteLlmCallSchema,
  pinEventSchema,
  pinReceiptSchema,
} from './agent-schemas.js';
import { type AnalyzeParts, bearerKey, refuseCodings, requireAllowed } from './analyze-route.js';
import { refusalSchemas } from './api-schemas.js';
import { disconnectSignal } from './connections.js';
import { HttpError } from './http-error.js';
import { quotaHeaders, sendJson, sendJsonText } from './responses.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose call it is, once its key was found. */
    agentOwner: KeyOwner | null;
    /** Its place among the calls in flight. */
    agentPlace: Place | null;
    /** Length of the body, once it was read. */
    bodyBytes: number;
  }
}

/** How long a text that was allowed in a conversation is not screened again, milliseconds: a gateway sends it with each turn. */
const ALLOWED_MS = 10 * 60_000;
/** Such texts, of all accounts. */
const ALLOWED_TEXTS = 20_000;

/** How long the prompt of a session is known as the task of its tools' calls and results, milliseconds. */
const PROMPT_MS = 12 * 60 * 60_000;
/** Sessions of all accounts whose prompt is known; each prompt has at most `TASK_LENGTH` characters. */
const PROMPTS = 5_000;

/** The routes that agents call themselves, in the shapes of their hosts. A call counts once, however many texts it holds. */
export function agentRoutes(app: FastifyInstance, parts: AnalyzeParts): void {
  app.decorateRequest('agentOwner', null);
  app.decorateRequest('agentPlace', null);
  const prompts = new LRUCache<string, string>({ max: PROMPTS, ttl: PROMPT_MS });
  const allowed = new LRUCache<string, Awaited<ReturnType<AgentAnalyzer['analyze']>>>({
    max: ALLOWED_TEXTS,
    ttl: ALLOWED_MS,
  });

  app.route({
    method: 'POST',
    url: '/hooks/claude-code',
    schema: {
      operationId: 'claudeCodeHook',
      summary: 'Answer an HTTP hook of Claude Code',
      querystring: hookQuerySchema,
      body: hookBodySchema,
      response: { 200: hookAnswerSchema, ...refusalSchemas },
    },
    validatorCompiler: () => (value: unknown) => ({ value }),
    onRequest: admit(bearerKey),
    preParsing: refuseCodings,
    handler: async (request, reply) => {
      const on = hookQuerySchema.safeParse(request.query);
      if (!on.success)
        throw new HttpError(
          400,
          '`user`, `tool_call`, `tool_result`, `suspicious` or `foreign` of the query names an action that is not there.',
        );
      const { suspicious, foreign, ...points } = on.data;
      const flow = { ...(suspicious && { suspicious }), ...(foreign && { foreign }) };
      const call: AgentCall = { host: 'claude-code', on: { ...(points as Partial<Policy>), flow } };
      return sendJsonText(reply, await answer(request, call));
    },
  });

  app.route({
    method: 'POST',
    url: '/beta/litellm_basic_guardrail_api',
    schema: {
      operationId: 'liteLlmGuardrail',
      summary: 'Answer the generic guardrail of a LiteLLM proxy',
      body: liteLlmCallSchema,
      response: { 200: liteLlmAnswerSchema, ...refusalSchemas },
    },
    validatorCompiler: () => (value: unknown) => ({ value }),
    onRequest: admit(gatewayKey),
    preParsing: refuseCodings,
    handler: async (request, reply) => {
      const call: AgentCall = { host: 'litellm', on: { user: 'refuse', tool_result: 'stop' } };
      return sendJsonText(reply, await answer(request, call, allowed));
    },
  });

  app.route({
    method: 'POST',
    url: '/hooks/mcp',
    bodyLimit: LONG,
    schema: {
      operationId: 'mcpPinEvent',
      summary: 'Report a changed tool definition',
      body: pinEventSchema,
      response: { 200: pinReceiptSchema, ...refusalSchemas },
    },
    validatorCompiler: () => (value: unknown) => ({ value }),
    onRequest: admit(bearerKey),
    preParsing: refuseCodings,
    handler: async (request, reply) => {
      const event = pinEventSchema.safeParse(request.body);
      if (!event.success) throw notTaken();
      const owner = ownerOf(request);
      const { server, tool, change, action, runId } = event.data;
      await parts.store.audit.add({
        accountId: owner.account.id,
        actor: `key ${owner.key.name}`,
        action: `tool.${change}`,
        target: `${server} ${tool}`,
        detail: { action, run: runId },
      });
      parts.store.keys.used(owner.key.id, parts.now().getTime());
      return sendJson(reply, 200, { recorded: true });
    },
  });

  /** Lets a call in, counted before its body is read: one with a bad body counts too. */
  function admit(readKey: (request: IncomingMessage) => string) {
    return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
      const owner = await parts.findKey(readKey(request.raw));
      if (owner === undefined) throw new HttpError(401, 'The API key is not valid.');
      const place = parts.admission.enter(owner.account.id);
      parts.metrics.underWay.inc();
      reply.raw.once('close', () => {
        parts.metrics.underWay.dec();
        place.leave();
      });
      request.agentOwner = owner;
      request.agentPlace = place;
      const charge = await parts.store.usage.charge(owner.account.id, parts.now().getTime());
      requireAllowed(reply, charge);
      quotaHeaders(reply, charge);
    };
  }

  /** The response to a call as JSON. Its verdicts are kept as evidence; a screening that fails is a 500. */
  async function answer(request: FastifyRequest, call: AgentCall, known?: typeof allowed): Promise<string> {
    const body = request.body as object;
    if (!Buffer.isBuffer(body)) await request.agentPlace?.turn();
    const { account, key } = ownerOf(request);
    const { store, engine, overlays, metrics, longTexts, now } = parts;
    const under = await overlays?.under(account.overlay);
    const { traceId } = request;
    const caller = { accountId: account.id, keyId: key.id, keep: account.settings.keep, under, traceId };
    const write = (record: EvidenceRecord): Promise<void> => store.evidence.append(record);
    const signal = disconnectSignal(request);
    let failure: unknown;
    const analyze: AgentAnalyzer['analyze'] = async (input, { channel, task: given, runId, isPast } = {}) => {
      const run = runId === undefined ? undefined : `${account.id} ${runId}`;
      const isPrompt = channel === 'user';
      const task = given ?? (run === undefined || isPrompt ? undefined : prompts.get(run));
      const name =
        known === undefined
          ? ''
          : `${account.id} ${under?.change.rulesVersion ?? ''} ${digestInput(input, channel ?? 'user', task)}`;
      const seen = known?.get(name);
      if (seen !== undefined) return seen;
      // Nobody waits for the rest.
      if (signal.aborted) failure ??= new HttpError(503, 'The caller left.');
      if (failure !== undefined) throw failure;
      try {
        const { verdict, explanation } = await screenCall({ write, engine, now, longTexts, runs: store.runs }, caller, {
          ...{ input, channel, task },
          run: runId === undefined ? undefined : { id: runId, policy: call.on.flow, isPast, isKeptElsewhere: true },
        });
        metrics.decided(verdict.verdict, verdict.decided_by, explanation.router_level);
        const isAllowed = verdict.verdict === 'allow';
        if (isAllowed) known?.set(name, verdict);
        // The next results are of this prompt or, where it was blocked, of none that may count.
        if (run !== undefined && isPrompt) prompts.set(run, isAllowed ? cropTask(inputText(input)) : undefined);
        return { ...verdict, explanation };
      } catch (error) {
        failure = error;
        throw error;
      }
    };
    // A run's memory that can't be had is a failure, as a verdict that can't.
    const failing = <T>(work: Promise<T>): Promise<T> =>
      work.catch((error: unknown) => {
        failure ??= error;
        throw error;
      });
    const analyzer: AgentAnalyzer = {
      analyze,
      read: (runId) => failing(store.runs.read(account.id, runId)),
      add: (runId, entries) => failing(store.runs.add(account.id, runId, entries)),
    };
    const text = Buffer.isBuffer(body)
      ? // Asked from another thread: in the request's context all the same.
        await longTexts.run(
          { kind: 'agent', body, call },
          { tenant: account.id, analyzer: { ...analyzer, analyze: AsyncResource.bind(analyze) }, signal },
        )
      : await answerAgent(call, body, analyzer);
    if (failure !== undefined) throw failure;
    store.keys.used(key.id, now().getTime());
    return text as string;
  }
}

function ownerOf({ agentOwner }: FastifyRequest): KeyOwner {
  if (agentOwner === null) throw new Error('a call without an owner');
  return agentOwner;
}

/** The key of a gateway that sends `x-api-key`; a bearer key will do. @throws HttpError 401 */
function gatewayKey(request: IncomingMessage): string {
  const given = request.headers['x-api-key'];
  if (given === undefined) return bearerKey(request);
  if (request.headers.authorization !== undefined)
    throw new HttpError(401, 'Two keys were sent; send one, as `x-api-key` or `Authorization`.');
  const key = typeof given === 'string' ? given.trim() : '';
  if (!/^\S+$/.test(key)) throw new HttpError(401, 'The `x-api-key` header contains no key.');
  return key;
}
