/** An error response of the API, with its message. */
// biome-ignore lint/plugin: the page has none of the library's code
export class CallError extends Error {
  readonly status: number;
  /** Of the error, where it has one. */
  readonly code: string | undefined;

  constructor(status: number, message: string, code?: string) {
    super(message);
    this.name = 'CallError';
    this.status = status;
    this.code = code;
  }
}

const session: { csrf: string } = { csrf: '' };

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
  const content: unknown = await response.json().catch(() => ({}));
  if (!response.ok) {
    // Wherever a session turns out to have ended, the page offers to sign in again.
    if (response.status === 401 && !path.startsWith('/sign-') && !path.startsWith('/invitation/'))
      window.dispatchEvent(new Event('signed-out'));
    throw new CallError(response.status, errorMessage(content, response.status), errorCode(content));
  }
  // The API and this page are built from the same port types.
  return content as T;
}

function errorMessage(content: unknown, status: number): string {
  if (typeof content === 'object' && content !== null && 'error' in content) return String(content.error);
  return `The service responded with status ${status}.`;
}

function errorCode(content: unknown): string | undefined {
  return typeof content === 'object' && content !== null && 'code' in content ? String(content.code) : undefined;
}
