import { z } from 'zod';
import { editOverlay } from '../../adapters/packs/pack-overlay.js';
import { overlayMistakes } from '../../engine/rules/pack/pack-error.js';
import { type DashboardService, OverlayError, type OverlayState } from '../ports.js';
import { type ApiApp, ApiError, type DashboardParts, orRefuse } from './api-parts.js';
import { getMember } from './sign-in/session.js';

/** UTF-16 code units of an overlay's YAML. */
const LONGEST_SOURCE = 16_384;
const LONGEST_ALLOWED = 2_000;
const LISTED_VERSIONS = 50;
const DAY_MS = 86_400_000;
/** Versions that an account applies in a day: each is kept for replays. */
const VERSIONS_A_DAY = 50;

/** Deeper than any overlay; the YAML reader takes a second to give up on some thousands of levels. */
const TOO_DEEP = /(?:[[{][^[\]{}]*){32}|(?:[-?][ \t]+){32}/;
const source = z
  .string()
  .max(LONGEST_SOURCE, `An overlay has at most ${LONGEST_SOURCE} characters.`)
  .refine((text) => !TOO_DEEP.test(text), 'An overlay is nested at most 32 levels deep.');
const previewBody = z.object({ source });
const applyBody = z.object({
  source,
  note: z.string().trim().max(200).default(''),
  /** The version that the page showed as the newest: somebody else's isn't overwritten unseen. */
  replaces: z.int().min(0),
});
const unit = z.number().gt(0).max(1);
const draftBody = z.object({
  source: source.optional(),
  threshold: unit.optional(),
  operatingPoint: z.string().min(1).max(80).nullable().optional(),
  allow: z
    .object({
      id: z.string().regex(/^ev_[0-9a-f]{24}$/, 'An evidence id is ev_ and 24 hex digits.'),
      /** Index of a finding of the record. Left out: the whole passage from the first finding to the last, for every rule. */
      finding: z.int().min(0).max(10_000).optional(),
      expires: z.iso.date('Write a date as YYYY-MM-DD.'),
    })
    .optional(),
});

/** Versions of an account's overlay, which says where the rules and the model block. */
export function overlayRoutes(app: ApiApp, { store, service, now }: DashboardParts): void {
  app.get('/overlay', async (request): Promise<OverlayState> => {
    const versions = await store.overlays.list(getMember(request).accountId, LISTED_VERSIONS);
    return { server: service.setting(), versions: versions.map(({ overlay: _overlay, ...version }) => version) };
  });

  app.post('/overlay/draft', { schema: { body: draftBody } }, async (request) => {
    const { accountId } = getMember(request);
    const { allow, threshold, operatingPoint } = request.body;
    const base = request.body.source ?? (await store.overlays.list(accountId, 1))[0]?.source ?? '';
    // It is edited only where it can be read.
    if (base.trim() !== '') await parsed(service, accountId, base);
    const entry = allow === undefined ? undefined : await allowance(store, accountId, allow);
    return { source: editOverlay(base, { threshold, operatingPoint, allow: entry }) };
  });

  app.post('/overlay/preview', { schema: { body: previewBody } }, async (request) => {
    const { accountId } = getMember(request);
    const { overlay } = await parsed(service, accountId, request.body.source);
    const busy = new ApiError(503, 'A preview is already running for this account; try again in a moment.');
    return orRefuse('OVERLOADED', busy, service.preview(accountId, overlay));
  });

  app.post('/overlay', { schema: { body: applyBody } }, async (request) => {
    const { accountId, email } = getMember(request);
    const { source: given, note, replaces } = request.body;
    const { overlay, rulesVersion } = await parsed(service, accountId, given);
    const latest = await store.overlays.list(accountId, VERSIONS_A_DAY);
    if (latest.length === VERSIONS_A_DAY && (latest.at(-1)?.createdAt ?? 0) > now() - DAY_MS)
      throw new ApiError(429, `An account applies at most ${VERSIONS_A_DAY} versions a day. Try again later.`);
    const newest = latest[0]?.number ?? 0;
    if (newest !== replaces)
      throw new ApiError(
        409,
        `Version ${newest} has been applied in the meantime. Reload the page and review it first.`,
      );
    const version = { source: given, overlay, note, rulesVersion, actor: email };
    const { overlay: _overlay, ...applied } = await store.overlays.apply(accountId, version);
    return { version: applied };
  });
}

/** The entry that lets a recorded false positive pass. */
async function allowance(
  store: DashboardParts['store'],
  accountId: string,
  { id, finding: at, expires }: NonNullable<z.infer<typeof draftBody>['allow']>,
) {
  const record = await store.evidence.get(accountId, id);
  if (record === undefined) throw new ApiError(404, 'There is no such record, or retention has removed it.');
  const { text, kept } = record.input;
  const chosen = at === undefined ? record.findings : record.findings.slice(at, at + 1);
  if (chosen.length === 0 || text === null || kept !== 'whole')
    throw new ApiError(409, 'No text that a rule found is kept with this record.');
  const found = text.slice(
    Math.min(...chosen.map(({ span }) => span.start)),
    Math.max(...chosen.map(({ span }) => span.end)),
  );
  if (found.length > LONGEST_ALLOWED)
    throw new ApiError(409, `The text found has more than ${LONGEST_ALLOWED} characters; write a pattern instead.`);
  const rule = at === undefined ? {} : { rule: chosen[0]?.rule };
  return { text: found, ...rule, reason: `false positive, see ${id}`, expires };
}

async function parsed(
  service: DashboardService,
  accountId: string,
  given: string,
): ReturnType<DashboardService['parseOverlay']> {
  try {
    return await service.parseOverlay(accountId, given);
  } catch (error) {
    const mistakes = overlayMistakes(error);
    if (mistakes) throw new ApiError(400, mistakes.map(({ message, advice }) => `${message} ${advice}`).join(' '));
    if (error instanceof OverlayError) throw new ApiError(400, error.message);
    throw error;
  }
}
