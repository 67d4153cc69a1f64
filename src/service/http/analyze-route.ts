import type { IncomingMessage } from 'node:http';
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchemaCompiler,
  onSendHookHandler,
  preParsingHookHandler,
} from 'fastify';
import type { FastifyRouteSchemaDef } from 'fastify/types/schema.js';
import { validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod';
import type { ZodType } from 'zod';
import { whenClosed } from '../../adapters/when-closed.js';
import type { Input } from '../../engine/input.js';
import { toMinimal } from '../../engine/verdict.js';
import type { EvidenceRecord, RecordedRun } from '../../evidence/evidence-record.js';
import type { RunTextLog } from '../../policy/run/run-state.js';
import type { WrittenPolicy } from '../../policy/run/written-policy.js';
import type { Charge } from '../../store/account-store.js';
import { LONG } from '../long-texts/long-text-job.js';
import type { LongTexts } from '../long-texts/long-texts.js';
import type { ServiceMetrics } from '../metrics.js';
import type { AccountOverlays } from '../screening/account-overlays.js';
import type { CallCounter, CountedCall } from '../screening/call-counter.js';
import type { FindKey } from '../screening/key-cache.js';
import type { KeyOwner, ScreeningEngine, ScreeningStore } from '../screening/ports.js';
import { type RecentVerdicts, recentVerdicts } from '../screening/recent-verdicts.js';
import { type RunTextMemory, runTextsOf } from '../screening/run-texts.js';
import { type AskedInput, screenCall } from '../screening/screen-call.js';
import type { Admission, Place } from './admission.js';
import {
  type AnalyzeBody,
  type AnalyzeQuery,
  analyzeBodySchema,
  analyzeQuerySchema,
  type RunAnswer,
  refusalSchemas,
  verdictAnswerSchema,
} from './api-schemas.js';
import { callerLeft, HttpError } from './http-error.js';
import { quotaHeaders, sendVerdict } from './responses.js';

export interface AnalyzeParts {
  readonly store: ScreeningStore;
  readonly findKey: FindKey<KeyOwner>;
  readonly engine: ScreeningEngine;
  /** Default: accounts have no overlays. */
  readonly overlays?: AccountOverlays | undefined;
  readonly admission: Admission;
  readonly counter: CallCounter;
  readonly metrics: ServiceMetrics;
  readonly longTexts: LongTexts;
  /** Texts of runs that no store keeps. */
  readonly memory: RunTextMemory;
  readonly now: () => Date;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The call, once its key was found and its quota let it in. */
    call: AdmittedCall | null;
    /** Length of the body, once it was read. */
    bodyBytes: number;
  }
}

interface AdmittedCall {
  readonly owner: KeyOwner;
  readonly counted: CountedCall;
  readonly place: Place;
}

/**
 * `POST /analyze` and its alias. The quota lets a call in before its body is read, and a call that was let in is counted
 * whatever comes of it: with its record, before an error is sent, or when the client is gone.
 */
export function analyzeRoutes(app: FastifyInstance, parts: AnalyzeParts): void {
  const recent = recentVerdicts();
  const schema = {
    operationId: 'analyze',
    summary: 'Screen one input',
    querystring: analyzeQuerySchema,
    body: analyzeBodySchema,
    response: { 200: verdictAnswerSchema, ...refusalSchemas },
  };
  for (const url of ['/analyze', '/v30/analyze']) {
    app.withTypeProvider<ZodTypeProvider>().route({
      method: 'POST',
      url,
      schema: url === '/analyze' ? schema : { ...schema, operationId: 'analyzeV30', summary: 'Alias of `/analyze`' },
      validatorCompiler: validateCall,
      onRequest: admit(parts, bearerKey, parts.counter.enter),
      preParsing: refuseCodings,
      onSend: countErrors,
      handler: async (request, reply) => {
        await answer({ ...parts, recent }, request, reply);
        return reply;
      },
    });
  }
}

/** Lets a call in, before its body is read: one with a bad body counts too. */
export function admit(
  { findKey, admission, metrics, now }: AnalyzeParts,
  readKey: (request: IncomingMessage) => string,
  count: CallCounter['enter'],
): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  return async (request, reply) => {
    const owner = await findKey(readKey(request.raw));
    if (owner === undefined) throw new HttpError(401, 'The API key is not valid.');
    const place = admission.enter(owner.account.id);
    metrics.underWay.inc();
    const entered = count(owner.account.id, now().getTime());
    whenClosed(reply.raw, () => {
      metrics.underWay.dec();
      place.leave();
      if (!(entered instanceof Promise)) entered.countAlone().catch(() => undefined);
    });
    const counted = entered instanceof Promise ? await entered : entered;
    if (counted.charge !== undefined) {
      requireAllowed(reply, counted.charge);
      quotaHeaders(reply, counted.charge);
    }
    request.call = { owner, counted, place };
  };
}

/** The call of a request that was let in. */
export function callOf({ call }: Pick<FastifyRequest, 'call'>): AdmittedCall {
  if (call === null) throw new Error('a call without an owner');
  return call;
}

/** An error is sent once its call is counted. */
const countErrors: onSendHookHandler = (request, reply, payload, done) => {
  const { call } = request;
  if (call === null || reply.statusCode < 400) {
    done(null, payload);
    return;
  }
  call.counted.countAlone().then(
    (charge) => {
      const quota = charge ?? call.counted.charge;
      if (quota !== undefined) quotaHeaders(reply, quota);
      done(null, payload);
    },
    // The store fails; the call has failed already.
    () => done(null, payload),
  );
};

interface AnalyzeRequest extends Pick<FastifyRequest, 'call' | 'bodyBytes' | 'traceId'> {
  readonly query: AnalyzeQuery;
  readonly body: AnalyzeBody;
}

async function answer(
  { store, overlays, metrics, memory, now, ...parts }: AnalyzeParts & { readonly recent: RecentVerdicts },
  { call, bodyBytes, traceId, query, body }: AnalyzeRequest,
  reply: FastifyReply,
): Promise<void> {
  const { owner, counted, place } = callOf({ call });
  const admitted = bodyBytes > LONG ? undefined : place.begin();
  if (admitted !== undefined) await admitted;
  const { account, key } = owner;
  const overlay = await overlays?.changeOf(account.overlay);
  const caller = { accountId: account.id, keyId: key.id, keep: account.settings.keep, overlay, traceId };
  const at = now();
  let quota = counted.charge;
  const write = async (record: EvidenceRecord): Promise<void> => {
    if (!counted.countWithRecord()) return store.evidence.append(record);
    quota = await store.evidence.appendCounted(record, at.getTime());
    counted.counted(quota);
    requireAllowed(reply, quota);
  };
  const kept = runTextsOf(store.runs, memory, caller);
  const texts: RunTextLog = {
    ...kept,
    async add(runId, text) {
      // A call that the quota refuses leaves nothing in its run.
      quota ??= await counted.countAlone();
      if (quota === undefined) throw callerLeft();
      requireAllowed(reply, quota);
      return kept.add(runId, text);
    },
  };
  const { verdict, explanation, record } = await screenCall(
    { ...parts, write, now, runs: store.runs, texts },
    caller,
    askedInput(body, query, account.flowPolicy ?? undefined),
  );
  store.keys.used(key.id, at.getTime());
  metrics.decided(verdict.verdict, verdict.decided_by, explanation.router_level);
  if (quota === undefined) throw callerLeft();
  const isExplained = query.explain === 'true';
  const form = query.form ?? (isExplained ? 'extended' : account.settings.verdictForm);
  const full = isExplained ? { ...verdict, explanation } : verdict;
  const said = form === 'minimal' ? toMinimal(verdict) : full;
  const head = { quota, explanation, time: at.getTime() };
  sendVerdict(reply, head, record.run === undefined ? said : { ...said, ...runAnswer(record.run) });
}

/** The run of a call, as the response tells it. Never a value. */
function runAnswer({ id, halved, flow }: RecordedRun): RunAnswer {
  if (flow === undefined) return { run_id: id, ...(halved && { halved }) };
  const { action, rule, reason } = flow;
  const findings = flow.flows.map(({ argument, kind, level, source }) => ({
    ...{ argument, kind, level },
    source: {
      tool: source.tool ?? null,
      evidence_id: source.evidenceId ?? null,
      span: source.span,
      probability: source.probability ?? null,
    },
  }));
  return { run_id: id, flow: { action, rule, reason, effect: flow.effect.effect, findings } };
}

/** @throws HttpError 400 where the channel is named twice */
function askedInput(
  { input, channel, task, run_id: id, tool, effect }: AnalyzeBody,
  query: AnalyzeQuery,
  policy: WrittenPolicy | undefined,
): AskedInput {
  if (channel !== undefined && query.channel !== undefined)
    throw new HttpError(400, '`channel` was sent in the body and in the query; send one.');
  const run = id === undefined ? undefined : { id, tool, effect, policy };
  return { input: input as Input, channel: channel ?? query.channel, task, run };
}

/** @throws HttpError 402 or 429 where the quota refuses the call */
function requireAllowed(reply: FastifyReply, charge: Charge): void {
  if (charge.allowed) return;
  quotaHeaders(reply, charge);
  if (charge.code === 'TRIAL_ENDED')
    throw new HttpError(402, 'The trial has ended; choose a plan to continue.', 'TRIAL_ENDED');
  reply.header('retry-after', String(charge.resetSeconds));
  throw new HttpError(
    429,
    'The calls of this month are used up and no overage credits remain; buy a pack or upgrade the plan.',
    'MONTHLY_LIMIT_REACHED',
  );
}

/** The schemas of a screening call are asked only of what isn't plainly right: no query, a body of an `input` alone. */
const validateCall: FastifySchemaCompiler<unknown> = (route) => {
  const ask = validatorCompiler(route as FastifyRouteSchemaDef<ZodType>);
  const isRight = route.httpPart === 'body' ? isInputAlone : isEmpty;
  return (value: unknown) => (isRight(value) ? { value } : ask(value));
};

const ASKED = ['channel', 'task', 'run_id', 'tool', 'effect'];

function isInputAlone(body: unknown): boolean {
  if (typeof body !== 'object' || body === null || !Object.hasOwn(body, 'input')) return false;
  return !ASKED.some((name) => Object.hasOwn(body, name));
}

function isEmpty(query: unknown): boolean {
  for (const _ in query as object) return false;
  return true;
}

const MISSING = 'The API key is missing: send it as `Authorization: Bearer <API_KEY>`.';

/**
 * The key of a request. Node keeps the first of several `Authorization` headers, a proxy may keep the last: two of
 * them name two callers, so neither is believed.
 *
 * @throws HttpError 401
 */
export function bearerKey(request: IncomingMessage): string {
  const { authorization } = request.headers;
  if (authorization === undefined) throw new HttpError(401, MISSING);
  let seen = 0;
  for (let at = 0; at < request.rawHeaders.length; at += 2) {
    const name = request.rawHeaders[at];
    if (name?.length === 13 && name.toLowerCase() === 'authorization') seen++;
  }
  if (seen > 1) throw new HttpError(401, 'Several `Authorization` headers were sent; send one.');
  const key = /^bearer +(\S+)$/i.exec(authorization)?.[1];
  if (key === undefined) throw new HttpError(401, MISSING);
  return key;
}

const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)/gi;

/** A compressed body, or one in another charset than JSON's: screened as it is, it wouldn't be what was meant. */
export const refuseCodings: preParsingHookHandler = (request, reply, payload, done) => {
  const error = codingProblem(request);
  if (error !== undefined) reply.header('accept-encoding', 'identity');
  done(error ?? null, payload);
};

function codingProblem({ headers }: FastifyRequest): HttpError | undefined {
  const coding = headers['content-encoding']?.trim().toLowerCase();
  if (coding !== undefined && coding !== '' && coding !== 'identity')
    return new HttpError(415, 'The body has a `Content-Encoding`; send it as it is.');
  const charsets = [...(headers['content-type'] ?? '').matchAll(CHARSET)];
  if (!charsets.every(([, name = '']) => /^(utf-?8|us-ascii)$/i.test(name)))
    return new HttpError(415, 'The body must be UTF-8, as all JSON is.');
  return undefined;
}
