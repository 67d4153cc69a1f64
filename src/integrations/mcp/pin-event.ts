/**
 * Reason why a definition isn't shown. `lookalike`: its name is easily taken for another tool's, or can't be seen in full.
 * `blocked`: by the engine. `unscreened`: the screening failed; it is trusted on first use once it succeeds.
 */
export type PinChange = (typeof PIN_CHANGES)[number];
export const PIN_CHANGES = ['added', 'changed', 'renamed', 'lookalike', 'blocked', 'unscreened'] as const;

/** `malformed`: no name, a long one, or one that clients read differently. `repeated`: listed twice with different definitions. */
export const TOOL_FAULTS: readonly (PinChange | 'malformed' | 'repeated')[] = [...PIN_CHANGES, 'malformed', 'repeated'];

/** A tool that a gateway hid, or a call that it denied, because of the tool's definition. Holds no screened text. */
export interface PinEvent {
  readonly server: string;
  readonly tool: string;
  readonly change: (typeof TOOL_FAULTS)[number];
  readonly action: 'hide' | 'deny' | 'report';
  readonly runId: string;
}

/** Action of the gateway in addition to its guard's enforcements. Contains no screened text except a tool's name. */
export interface GatewayEvent {
  readonly event: 'tool_pin' | 'invalid_message' | 'limit';
  readonly runId: string;
  /** As `shownName` gives it. */
  readonly tool?: string;
  readonly change?: PinEvent['change'];
  readonly from?: 'client' | 'server';
  readonly action: 'hide' | 'deny' | 'report' | 'drop';
  readonly reason: string;
}
