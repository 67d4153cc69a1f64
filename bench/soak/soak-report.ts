/** What a soak saw. It passed where nothing is at fault. */
export interface SoakReport {
  readonly name: string;
  /** What was counted and measured, for the record. */
  readonly facts: Readonly<Record<string, string | number>>;
  /** One line each, at most some of each kind. */
  readonly faults: readonly string[];
}

/** Faults as they are found: the first few of a kind in words, the others counted. */
export interface Faults {
  add(kind: string, detail?: string): void;
  lines(): readonly string[];
}

const SHOWN = 5;

/** An empty list of faults. */
export function collectFaults(): Faults {
  const kinds = new Map<string, string[]>();
  return {
    add(kind, detail = '') {
      kinds.set(kind, [...(kinds.get(kind) ?? []), detail]);
    },
    lines: () =>
      [...kinds].map(([kind, details]) => `${details.length} x ${kind}: ${details.slice(0, SHOWN).join('; ')}`),
  };
}
