/** A refusal of the API, with the sentence that it gave. */
export class CallError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = 'CallError';
    this.status = status;
  }
}

const session: { csrf: string } = { csrf: '' };

/** The token that goes with every change from now on. */
export function keepCsrf(token: string | null): void {
  session.csrf = token ?? '';
}

/** Calls the dashboard's API. @throws CallError */
export async function callApi<T>(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown): Promise<T> {
  const response = await fetch(`/dashboard/api${path}`, {
    method,
    credentials: 'same-origin',
    headers: {
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(method === 'GET' ? {} : { 'X-CSRF-Token': session.csrf }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch(() => {
    throw new CallError(0, 'The service cannot be reached. Check the connection and try again.');
  });
  const answer: unknown = await response.json().catch(() => ({}));
  if (!response.ok) throw new CallError(response.status, sentenceOf(answer, response.status));
  // The API and this page are built from the same port types.
  return answer as T;
}

function sentenceOf(answer: unknown, status: number): string {
  if (typeof answer === 'object' && answer !== null && 'error' in answer) return String(answer.error);
  return `The service answered with status ${status}.`;
}
