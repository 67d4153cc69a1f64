import type { Classifier, ClassifierAnswer, ClassifyOptions } from '../../src/engine/ports.js';

/** A classifier that says what the test tells it to, and counts how often it was asked. */
export interface StubModel extends Classifier {
  asked: (readonly string[])[];
  /** The options of each call. */
  options: ClassifyOptions[];
}

const INFO = {
  version: 'stub-1.0.0+000000000000',
  thresholds: { strict: 0.3, balanced: 0.7, permissive: 0.9 },
  defaultOperatingPoint: 'balanced',
};

export function stubModel(answer: (texts: readonly string[]) => Promise<ClassifierAnswer>): StubModel {
  const asked: (readonly string[])[] = [];
  const options: ClassifyOptions[] = [];
  return {
    info: INFO,
    asked,
    options,
    classify(texts, given) {
      asked.push(texts);
      options.push(given);
      return answer(texts);
    },
    warmUp: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}

/** One window a text, all with the same probability. */
export function sure(probability: number) {
  return async (texts: readonly string[]): Promise<ClassifierAnswer> => ({
    probability,
    windows: texts.map((text, index) => ({ text: index, span: { start: 0, end: text.length }, probability })),
    hotspots: [{ text: 0, span: { start: 0, end: 2 } }],
    unseen: [],
  });
}
