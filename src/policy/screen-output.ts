/** Looks for ways out in what the model wrote. Outside of a run there is nothing to compare it with. */
import { newEvidenceId } from '../adapters/evidence-id.js';
import { enforcementOf, factsOf, noteOf } from './facts.js';
import type { Setup } from './guard-options.js';
import { type Decision, type Enforcement, type OutputStream, passes, type ScreenCall } from './policy.js';
import type { OutputPieces, ShownPiece } from './run/output/output-pieces.js';
import type { OutputRuling } from './run/output/rule-output.js';
import type { RunMemory } from './run/run-memory.js';

/** Screens a text of the model that is there as a whole. */
export async function screenOutput<T>(
  setup: Setup,
  value: T,
  call: ScreenCall,
  run: RunMemory | undefined,
): Promise<Decision<T>> {
  const started = performance.now();
  call.signal?.throwIfAborted();
  const { output, flow } = setup.policy;
  if (output === 'off' || run === undefined) return { action: 'allow', value };
  const { ruleOutput } = await import('./run/output/rule-output.js');
  const ruling = await ruleOutput(run, value, call.isSigned ? 'report' : output, flow);
  if (ruling === undefined) return { action: 'allow', value };
  const enforcement = enforce(setup, ruling, call, { run, evidenceId: newEvidenceId(), started });
  const { action } = ruling;
  if (action === 'deny') return { action, enforcement };
  const noted = (rule: string): string => noteFor(rule, enforcement);
  return { action, value: action === 'redact' ? (ruling.redact(noted) as T) : value, enforcement };
}

/** Screens a text of the model that comes in pieces. */
export function openOutputStream(setup: Setup, call: ScreenCall): OutputStream {
  const { policy, runs } = setup;
  const { output, flow } = policy;
  const run = runs.find(call.runId);
  if (output === 'off' || run === undefined) return { write: async (piece) => piece, end: async () => '' };
  // All ways out of one text have its evidence id.
  const about = { run, evidenceId: newEvidenceId() };
  const open = async (): Promise<OutputPieces> =>
    (await import('./run/output/output-pieces.js')).openOutput(run, flow, output);
  if (call.isSigned) return openSignable(setup, call, run, open);
  let pieces: OutputPieces | undefined;
  let isDenied = false;

  async function show(next: (pieces: OutputPieces) => ShownPiece): Promise<string> {
    call.signal?.throwIfAborted();
    if (isDenied) return '';
    const started = performance.now();
    pieces ??= await open();
    const { ruling, redact } = next(pieces);
    const enforcement = ruling && enforce(setup, ruling, call, { ...about, started });
    isDenied = enforcement?.action === 'deny';
    return enforcement !== undefined && isDenied ? enforcement.note : redact((rule) => noteFor(rule, about));
  }

  return { write: (piece) => show((text) => text.next(piece)), end: () => show((text) => text.rest()) };
}

/** A text that may be signed: with a way out in it, its end decides on the whole. */
function openSignable(setup: Setup, call: ScreenCall, run: RunMemory, open: () => Promise<OutputPieces>): OutputStream {
  let pieces: OutputPieces | undefined;
  let text = '';
  let shown = '';
  let isHeld = false;
  return {
    async write(piece) {
      call.signal?.throwIfAborted();
      text += piece;
      pieces ??= await open();
      const { ruling, redact } = pieces.next(piece);
      isHeld ||= ruling !== undefined && ruling.action !== 'report';
      const fresh = isHeld ? '' : redact(() => '');
      shown += fresh;
      return fresh;
    },
    async end(isSigned = false) {
      const decision = await screenOutput(setup, text, { ...call, isSigned }, run);
      return passes(decision) ? decision.value.slice(shown.length) : decision.enforcement.note;
    },
  };
}

/** Reports ways out, and says why they don't pass. */
function enforce(
  { tell }: Setup,
  { rule, reason, action, leaks }: OutputRuling,
  call: ScreenCall,
  { run, evidenceId, started }: { readonly run: RunMemory; readonly evidenceId: string; readonly started: number },
): Enforcement {
  const facts = { ...factsOf('error'), evidenceId, verdict: 'allow', cause: 'output', rule, reason, leaks } as const;
  const about = { runId: run.id, point: 'output', tool: call.tool, action, unreadable: [] } as const;
  const event = { ...facts, ...about, durationMs: performance.now() - started };
  tell(event, call, run);
  return enforcementOf(event, noteFor(rule, { evidenceId }));
}

function noteFor(rule: string, { evidenceId }: Pick<Enforcement, 'evidenceId'>): string {
  return noteOf('output', 'a way out.', { rule, evidenceId });
}
