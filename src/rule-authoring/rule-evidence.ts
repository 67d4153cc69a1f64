import { loadPack } from '../adapters/packs/load-pack.js';
import { type RuleEvidence, readEvidence, type TextCounts } from '../adapters/packs/rules-data.js';
import { type ExportedRule, exportPack, matcherDigest } from './export-pack.js';

/** Returns the evidence for a rule, or undefined if none was measured on the patterns that it has now. */
export function findEvidence(rule: ExportedRule, { hits }: RuleEvidence): TextCounts | undefined {
  const measured = hits[rule.id];
  if (measured?.matcher !== matcherDigest(rule)) return undefined;
  return { attacks: measured.attacks, benign: measured.benign };
}

/** The matchers of the rules in `rules/core`, by rule id, and the ids of those without current evidence. */
export interface CoreEvidence {
  readonly matchers: Readonly<Record<string, string>>;
  readonly outdated: readonly string[];
}

/** Compares `rules/EVIDENCE.json` with the rules of a checkout. @throws PackError */
export function checkCoreEvidence(): CoreEvidence {
  const { pack } = loadPack({ packs: ['rules/core'], today: new Date().toISOString().slice(0, 10) });
  const rules = exportPack(pack);
  const evidence = readEvidence();
  return {
    matchers: Object.fromEntries(rules.map((rule) => [rule.id, matcherDigest(rule)])),
    outdated: rules.filter((rule) => !evidence || !findEvidence(rule, evidence)).map(({ id }) => id),
  };
}
