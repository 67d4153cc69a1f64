import type { ApiApp, DashboardParts } from './api-parts.js';
import { getMember } from './sign-in/session.js';

type Values = Readonly<Record<string, unknown>>;

/** Part of a change that is recorded: never a screened text or a secret. */
interface AuditedRoute {
  readonly action: string;
  /** Name of the parameter or field of the body that says what was changed. */
  readonly target?: string;
  /** Fields of the body, or of the query, that say how. */
  readonly detail?: readonly string[];
}

/** By method and route. A test fails where a route that changes something is missing here. */
export const auditedRoutes: Readonly<Record<string, AuditedRoute>> = {
  'POST /keys': { action: 'key.create', target: 'name' },
  'POST /keys/:id/rotate': { action: 'key.rotate', target: 'id', detail: ['graceSeconds'] },
  'POST /keys/:id/undo-rotation': { action: 'key.undo-rotation', target: 'id' },
  'POST /keys/:id/revoke': { action: 'key.revoke', target: 'id' },
  'PUT /members/:id': { action: 'member.role', target: 'id', detail: ['role'] },
  'DELETE /members/:id': { action: 'member.remove', target: 'id' },
  'POST /invitations': { action: 'invitation.create', target: 'email', detail: ['role'] },
  'DELETE /invitations/:id': { action: 'invitation.withdraw', target: 'id' },
  'PUT /account': { action: 'account.rename', target: 'name' },
  'PUT /settings': { action: 'settings.change', detail: ['keep', 'retentionDays', 'verdictForm'] },
  'POST /orders': { action: 'order.place', target: 'kind', detail: ['plan', 'packs'] },
  'POST /orders/:id/cancel': { action: 'order.cancel', target: 'id' },
  'PUT /evidence/:id/label': { action: 'evidence.mark', target: 'id', detail: ['label'] },
  'GET /evidence/export': { action: 'evidence.export', detail: ['format'] },
  'GET /audit/export': { action: 'audit.export' },
  'POST /overlay': { action: 'overlay.apply', detail: ['note'] },
  'PUT /flow-policy': { action: 'flow-policy.replace', detail: ['on', 'tools'] },
  'DELETE /flow-policy': { action: 'flow-policy.remove' },
  'POST /webhooks': { action: 'webhook.create', target: 'url' },
  'DELETE /webhooks/:id': { action: 'webhook.remove', target: 'id' },
  'POST /webhooks/:id/test': { action: 'webhook.test', target: 'id' },
  'PUT /password': { action: 'password.change' },
  'POST /second-factor/confirm': { action: 'second-factor.on' },
  'POST /second-factor/remove': { action: 'second-factor.off' },
};

const LONGEST = 200;

/** Writes down every change of a member before its response leaves. */
export function auditChanges(app: ApiApp, { store }: Pick<DashboardParts, 'store'>): void {
  app.addHook('onSend', async (request, reply) => {
    const { method, routeOptions } = request;
    const audited = auditedRoutes[`${method} ${(routeOptions.url ?? '').replace(/^\/dashboard\/api/, '')}`];
    if (audited === undefined || reply.statusCode >= 400) return;
    const { accountId, email } = getMember(request);
    const given: Values = { ...asValues(request.query), ...asValues(request.body), ...asValues(request.params) };
    const target = audited.target === undefined ? '' : actionWord(given[audited.target]);
    const detail = Object.fromEntries(
      (audited.detail ?? []).flatMap((name) => (given[name] === undefined ? [] : [[name, actionWord(given[name])]])),
    );
    await store.audit.add({ accountId, actor: email, action: audited.action, target, detail });
  });
}

function asValues(value: unknown): Values {
  return typeof value === 'object' && value !== null ? (value as Values) : {};
}

function actionWord(value: unknown): string {
  const word = typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? 'none');
  return word.slice(0, LONGEST);
}
