import { DEFAULT_LIMITS } from '../engine/limits.js';
import type { RecordedLimits } from '../evidence/evidence-record.js';
import type { Mode } from '../index.js';

const { modelLength, modelViews, modelViewLength, modelViewMinLength, modelWindows } = DEFAULT_LIMITS;
const limits: RecordedLimits = { modelLength, modelViews, modelViewLength, modelViewMinLength, modelWindows };

/** The bounds that decide what the model reads; null where none runs. The service has the engine's own. */
export function recordedLimits(mode: Mode): RecordedLimits | null {
  return mode === 'rules' ? null : limits;
}
