import { AsyncResource } from 'node:async_hooks';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { EvidenceRecord } from '../../evidence/evidence-record.js';
import type { Policy } from '../../policy/index.js';
import type { WrittenPolicy } from '../../policy/run/written-policy.js';
import { digestInput } from '../../policy/screener.js';
import { LONG } from '../long-texts/long-text-job.js';
import type { AccountChange } from '../screening/account-overlays.js';
import { runTextsOf } from '../screening/run-texts.js';
import { screenCall } from '../screening/screen-call.js';
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
import { type AnalyzeParts, admit, bearerKey, callOf, refuseCodings } from './analyze-route.js';
import { refusalSchemas } from './api-schemas.js';
import { disconnectSignal } from './connections.js';
import { callerLeft, HttpError } from './http-error.js';
import { sendJson, sendJsonText } from './responses.js';

/** Time for which a text that was allowed in a conversation is not screened again, milliseconds: a gateway sends it with each turn. */
const ALLOWED_MS = 10 * 60_000;
/** Such texts, of all accounts. */
const ALLOWED_TEXTS = 20_000;

/** Verdicts that are known for a while, by account, overlay and text. */
type KnownVerdicts = LRUCache<string, Awaited<ReturnType<AgentAnalyzer['analyze']>>>;

/** The routes that agents call themselves, in the shapes of their hosts. A call counts once, however many texts it holds. */
export function agentRoutes(app: FastifyInstance, parts: AnalyzeParts): void {
  const allowed: KnownVerdicts = new LRUCache({ max: ALLOWED_TEXTS, ttl: ALLOWED_MS });
  const common = (readKey = bearerKey) =>
    ({
      method: 'POST',
      validatorCompiler: () => (value: unknown) => ({ value }),
      onRequest: admit(parts, readKey, parts.counter.count),
      preParsing: refuseCodings,
    }) as const;

  app.route({
    ...common(),
    url: '/hooks/claude-code',
    schema: {
      operationId: 'claudeCodeHook',
      summary: 'Answer an HTTP hook of Claude Code',
      querystring: hookQuerySchema,
      body: hookBodySchema,
      response: { 200: hookAnswerSchema, ...refusalSchemas },
    },
    handler: async (request, reply) => sendJsonText(reply, await answer(parts, request, hookCall(request.query))),
  });

  app.route({
    ...common(gatewayKey),
    url: '/beta/litellm_basic_guardrail_api',
    schema: {
      operationId: 'liteLlmGuardrail',
      summary: 'Answer the generic guardrail of a LiteLLM proxy',
      body: liteLlmCallSchema,
      response: { 200: liteLlmAnswerSchema, ...refusalSchemas },
    },
    handler: async (request, reply) => {
      const call: AgentCall = { host: 'litellm', on: { user: 'refuse', tool_result: 'stop' } };
      return sendJsonText(reply, await answer(parts, request, call, allowed));
    },
  });

  app.route({
    ...common(),
    url: '/hooks/mcp',
    bodyLimit: LONG,
    schema: {
      operationId: 'mcpPinEvent',
      summary: 'Report a changed tool definition',
      body: pinEventSchema,
      response: { 200: pinReceiptSchema, ...refusalSchemas },
    },
    handler: async (request, reply) => {
      await notePin(parts, request);
      return sendJson(reply, 200, { recorded: true });
    },
  });
}

/** @throws HttpError 400 for an action that there isn't */
function hookCall(query: unknown): AgentCall {
  const on = hookQuerySchema.safeParse(query);
  if (!on.success)
    throw new HttpError(
      400,
      '`user`, `tool_call`, `tool_result`, `suspicious` or `foreign` of the query names an action that is not there.',
    );
  const { suspicious, foreign, ...points } = on.data;
  const flow = { ...(suspicious && { suspicious }), ...(foreign && { foreign }) };
  return { host: 'claude-code', on: { ...(points as Partial<Policy>), flow } };
}

async function notePin({ store, now }: AnalyzeParts, request: FastifyRequest): Promise<void> {
  const event = pinEventSchema.safeParse(request.body);
  if (!event.success) throw notTaken();
  const { account, key } = callOf(request).owner;
  const { server, tool, change, action, runId } = event.data;
  await store.audit.add({
    accountId: account.id,
    actor: `key ${key.name}`,
    action: `tool.${change}`,
    target: `${server} ${tool}`,
    detail: { action, run: runId },
  });
  store.keys.used(key.id, now().getTime());
}

/** The response to a call as JSON. Its verdicts are kept as evidence; a screening that fails is a 500. */
async function answer(
  parts: AnalyzeParts,
  request: FastifyRequest,
  asked: AgentCall,
  known?: KnownVerdicts,
): Promise<string> {
  const body = request.body as object;
  const { owner, place } = callOf(request);
  if (!Buffer.isBuffer(body)) await place.begin();
  const { account, key } = owner;
  const { store, overlays, longTexts, memory, now } = parts;
  const texts = runTextsOf(store.runs, memory, { accountId: account.id, keep: account.settings.keep });
  const signal = disconnectSignal(request);
  const call = underPolicy(asked, account.flowPolicy);
  const screen = screening(parts, request, call, await overlays?.changeOf(account.overlay), known);
  let failure: unknown;
  // If a verdict or a run's memory is unavailable, the whole call fails.
  const failing = async <T>(work: () => Promise<T>): Promise<T> => {
    if (failure !== undefined) throw failure;
    try {
      return await work();
    } catch (error) {
      failure ??= error;
      throw error;
    }
  };
  const analyzer: AgentAnalyzer = {
    analyze: (input, options) => failing(() => screen(input, options)),
    read: (runId) => failing(() => store.runs.read(account.id, runId)),
    add: (runId, entries) => failing(() => store.runs.add(account.id, runId, entries)),
    texts: {
      read: (runId, name) => failing(() => texts.read(runId, name)),
      add: (runId, text) => failing(() => texts.add(runId, text)),
    },
  };
  const text = Buffer.isBuffer(body)
    ? // Asked from another thread: in the request's context all the same.
      await longTexts.run(
        { kind: 'agent', body, call },
        { tenant: account.id, analyzer: { ...analyzer, analyze: AsyncResource.bind(analyzer.analyze) }, signal },
      )
    : await answerAgent(call, body, analyzer);
  if (failure !== undefined) throw failure;
  store.keys.used(key.id, now().getTime());
  return text as string;
}

/** A call under the policy of its account; the actions that its query names go first. */
function underPolicy({ on, ...call }: AgentCall, policy: WrittenPolicy | null): AgentCall {
  return { ...call, on: { ...on, flow: { ...policy?.on?.flow, ...on.flow } }, tools: policy?.tools };
}

function screening(
  { store, engine, metrics, longTexts, now }: AnalyzeParts,
  request: FastifyRequest,
  call: AgentCall,
  overlay: AccountChange | undefined,
  known: KnownVerdicts | undefined,
): AgentAnalyzer['analyze'] {
  const { account, key } = callOf(request).owner;
  const caller = {
    ...{ accountId: account.id, keyId: key.id, keep: account.settings.keep },
    ...{ overlay, traceId: request.traceId },
  };
  const write = (record: EvidenceRecord): Promise<void> => store.evidence.append(record);
  const signal = disconnectSignal(request);
  return async (input, { channel, task, runId, isPast } = {}) => {
    const digest = known === undefined ? '' : digestInput(input, channel ?? 'user', task);
    const name = `${account.id} ${overlay?.change.rulesVersion ?? ''} ${digest}`;
    const seen = known?.get(name);
    if (seen !== undefined) return seen;
    // Nobody waits for the rest.
    if (signal.aborted) throw callerLeft();
    const { verdict, explanation } = await screenCall({ write, engine, now, longTexts, runs: store.runs }, caller, {
      ...{ input, channel, task },
      run:
        runId === undefined
          ? undefined
          : { id: runId, policy: { on: { flow: call.on.flow }, tools: call.tools }, isPast, isKeptElsewhere: true },
    });
    metrics.decided(verdict.verdict, verdict.decided_by, explanation.router_level);
    if (verdict.verdict === 'allow') known?.set(name, verdict);
    return { ...verdict, explanation };
  };
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
