import { describe, expect, it } from 'vitest';
import {
  type BreakerEvent,
  type BreakerState,
  CLOSED,
  stepBreaker,
} from '../../../src/engine/model/circuit-breaker.js';

const LIMITS = { failures: 3, restMs: 100, maxRestMs: 350 };
const closed = (failures: number): BreakerState => ({ kind: 'closed', failures });
const open = (until: number, restMs: number): BreakerState => ({ kind: 'open', until, restMs });
const halfOpen = (restMs: number): BreakerState => ({ kind: 'half-open', restMs });

// state, event, time -> state, allowed
const ROWS: readonly [BreakerState, BreakerEvent, number, BreakerState, boolean][] = [
  [CLOSED, 'ask', 0, CLOSED, true],
  [closed(2), 'ask', 0, closed(2), true],
  [closed(2), 'success', 0, CLOSED, true],
  [CLOSED, 'failure', 0, closed(1), false],
  [closed(1), 'failure', 0, closed(2), false],
  [closed(2), 'failure', 10, open(110, 100), false],
  [closed(2), 'neutral', 10, closed(2), true],
  [open(110, 100), 'ask', 109, open(110, 100), false],
  [open(110, 100), 'ask', 110, halfOpen(100), true],
  [open(110, 100), 'failure', 50, open(110, 100), false],
  [open(110, 100), 'neutral', 50, open(110, 100), false],
  [open(110, 100), 'success', 50, CLOSED, true],
  [halfOpen(100), 'ask', 120, halfOpen(100), false],
  [halfOpen(100), 'success', 120, CLOSED, true],
  [halfOpen(100), 'failure', 120, open(320, 200), false],
  [halfOpen(200), 'failure', 400, open(750, 350), false],
  [halfOpen(350), 'failure', 800, open(1150, 350), false],
  [halfOpen(100), 'neutral', 120, open(120, 100), false],
];

describe('stepBreaker', () => {
  it.each(ROWS)('%o, %s at %d', (state, event, now, next, allowed) => {
    expect(stepBreaker(state, event, now, LIMITS)).toEqual({ state: next, allowed });
  });

  it('lets one probe through at a time', () => {
    const first = stepBreaker(open(0, 100), 'ask', 5, LIMITS);
    const second = stepBreaker(first.state, 'ask', 5, LIMITS);
    expect([first.allowed, second.allowed]).toEqual([true, false]);
  });
});
