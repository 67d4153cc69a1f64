import { ModelError } from '../errors.js';
import type { Classifier } from '../ports.js';

/**
 * Stands in for a model that couldn't be loaded: each call ends as `ml-error-rules-fallback`, so that
 * callers see that something is missing instead of a quiet verdict by rules.
 */
export function unavailableModel(error: ModelError, threshold = 0.5): Classifier {
  const again = (): Promise<never> => Promise.reject(new ModelError(error.code, error.message, { cause: error }));
  return {
    info: {
      version: 'unavailable',
      thresholds: { strict: threshold, balanced: threshold, permissive: threshold },
      defaultOperatingPoint: 'balanced',
    },
    classify: again,
    warmUp: again,
    close: () => Promise.resolve(),
  };
}
