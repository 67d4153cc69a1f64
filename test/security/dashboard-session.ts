import { hashPassword } from '../../src/dashboard/api/sign-in/password-hash.js';
import type { Answer } from '../contract/call.js';
import type { Service } from '../contract/service.js';

/** A signed-in owner of an account of their own. */
export interface Session {
  readonly accountId: string;
  readonly userId: string;
  readonly email: string;
  api(method: string, path: string, body?: object): Promise<Answer>;
}

let sessions = 0;

/** Makes an account with an owner, and signs in. Test files that share a service may use the same names. */
export async function signedIn(service: Service, name: string): Promise<Session> {
  const password = `a password of ${name}`;
  sessions += 1;
  const email = `${name}-${sessions}@example.com`;
  const account = await service.store.accounts.create(`account of ${name}`, 'pro');
  const user = await service.store.users.create(email, await hashPassword(password));
  await service.store.users.setMember(account.id, user.id, 'owner');
  const api = (method: string, path: string, body?: object, headers = {}) =>
    service.call({ method, path: `/dashboard/api${path}`, ...(body === undefined ? {} : { body }), headers });
  const opened = await api('POST', '/sign-in', { email, password });
  const headers = {
    cookie: String(opened.headers['set-cookie']).split(';')[0] ?? '',
    'x-csrf-token': opened.json().csrf as string,
  };
  return {
    accountId: account.id,
    userId: user.id,
    email,
    api: (method, path, body) => api(method, path, body, headers),
  };
}
