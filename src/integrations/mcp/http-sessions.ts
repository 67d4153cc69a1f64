import type { IncomingMessage } from 'node:http';
import { LRUCache } from 'lru-cache';
import { ClientQuestions } from './client-questions.js';

/** The runs of a server's sessions over HTTP. */
export interface HttpSessions {
  of(request: Pick<IncomingMessage, 'method' | 'headers'>): HttpSession;
}

export interface HttpSession {
  /** The object that stands for the session's run; undefined outside of any. */
  run(): object | undefined;
  /** Questions to the person behind its client. */
  questions(): ClientQuestions;
  /** Begins the session that a response names, goes on with the one that it accepts, or ends it. */
  answered(response: Pick<IncomingMessage, 'statusCode' | 'headers'>): void;
}

/** Sessions that are remembered, and how long one is while it isn't used. */
const MAX_SESSIONS = 1_000;
const SESSION_MS = 3_600_000;

/** @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management */
export function createHttpSessions(): HttpSessions {
  const runs = new LRUCache<string, { readonly questions: ClientQuestions }>({
    max: MAX_SESSIONS,
    ttl: SESSION_MS,
    updateAgeOnGet: true,
  });
  return {
    of({ method, headers }) {
      const asked = sessionId(headers);
      // Remembered once the server has accepted it: anyone can send an id.
      const fresh = { questions: new ClientQuestions() };
      let id = asked;
      const run = (): typeof fresh | undefined => (id === undefined ? undefined : (runs.get(id) ?? fresh));
      return {
        run,
        questions: () => (run() ?? fresh).questions,
        answered({ statusCode = 502, headers: given }) {
          const isOk = statusCode < 300;
          if (asked !== undefined && (statusCode === 404 || (isOk && method === 'DELETE'))) runs.delete(asked);
          else if (isOk) {
            const known = run() ?? fresh;
            id = sessionId(given) ?? asked;
            // A server that names a new id goes on with the same run.
            if (id !== undefined) runs.set(id, runs.get(id) ?? known);
          }
        },
      };
    },
  };
}

function sessionId(headers: IncomingMessage['headers']): string | undefined {
  const id = headers['mcp-session-id'];
  return id === undefined || id === '' ? undefined : String(id);
}
