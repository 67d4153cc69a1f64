import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify';
import { createEngine, type ExplainedVerdict } from '../../src/index.js';
import { type AppParts, buildApp } from '../../src/service/http/build-app.js';
import type { ScreeningEngine } from '../../src/service/screening/ports.js';
import { type MemoryStore, memoryStore } from './memory-store.js';

export const KEY = 'svc_live_test-key-of-the-first-account';
export const OTHER_KEY = 'svc_live_test-key-of-the-second-account';

export interface TestApp {
  readonly app: FastifyInstance;
  readonly store: MemoryStore;
  post(body: unknown, options?: InjectOptions): Promise<LightMyRequestResponse>;
}

const engine = createEngine({ model: false });

/** The rules of the library, in this process. */
const rulesEngine: ScreeningEngine = {
  info: engine.info,
  score: async (input, { channel, explain, evidenceId }) => engine.scan(input, { channel, explain, evidenceId }),
};

/** Scorers that change the rules' answer, to see what the service does with a model's. */
export function engineThat(
  change: (verdict: ExplainedVerdict, asked: Parameters<ScreeningEngine['score']>[1]) => ExplainedVerdict,
): ScreeningEngine {
  return {
    info: engine.info,
    score: async (input, asked) => {
      const { channel, explain, evidenceId } = asked;
      return change(engine.scan(input, { channel, explain, evidenceId }), asked);
    },
  };
}

export async function testApp(parts: Partial<AppParts> = {}): Promise<TestApp> {
  const store = memoryStore();
  store.add(KEY);
  store.add(OTHER_KEY);
  const app = await buildApp({ store, engine: rulesEngine, nodeMetrics: false, ...parts });
  return {
    app,
    store,
    post: (body, options = {}) =>
      app.inject({
        method: 'POST',
        url: '/analyze',
        ...options,
        headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', ...options.headers },
        payload: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
      }),
  };
}
