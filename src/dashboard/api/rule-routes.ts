import { z } from 'zod';
import type { Rule } from '../../engine/rules/types.js';
import type { Store } from '../../store/store.js';
import type { RuleDetail, RuleListing } from '../ports.js';
import { type ApiApp, ApiError, type DashboardParts } from './api-parts.js';
import { getMember } from './sign-in/session.js';

const params = z.object({ rule: z.string().min(1).max(200) });

/** The rules in force with what each did in the account. */
export function ruleRoutes(app: ApiApp, { store, rules }: DashboardParts): void {
  const inForce = (): readonly Rule[] => rules().rules.filter(({ status }) => status !== 'deprecated');

  app.get('/rules', async (request) => {
    const counts = await countsByRule(store, getMember(request).accountId);
    return { version: rules().version, rules: inForce().map((rule) => listing(rule, counts.get(rule.id))) };
  });
  app.get('/rules/titles', async () => ({
    titles: Object.fromEntries(inForce().map(({ id, title }) => [id, title])),
  }));
  app.get('/rules/:rule', { schema: { params } }, async (request) => {
    const rule = inForce().find(({ id }) => id === request.params.rule);
    if (rule === undefined) throw new ApiError(404, 'There is no such rule in force.');
    const counts = await countsByRule(store, getMember(request).accountId);
    return { rule: detail(rule, counts.get(rule.id)) };
  });
}

type Counts = Pick<RuleListing, 'blocks' | 'falsePositives'>;

async function countsByRule(store: Store, accountId: string): Promise<ReadonlyMap<string, Counts>> {
  const counts = new Map<string, Counts>();
  for (const { rule, blocks, falseAlarms } of await store.evidence.versions(accountId)) {
    const before = counts.get(rule) ?? { blocks: 0, falsePositives: 0 };
    counts.set(rule, { blocks: before.blocks + blocks, falsePositives: before.falsePositives + falseAlarms });
  }
  return counts;
}

function listing(rule: Rule, counts: Counts = { blocks: 0, falsePositives: 0 }): RuleListing {
  const { id, title, severity, status, score, tags, languages } = rule;
  return { id, title, severity, status, score, tags, languages, ...counts };
}

function detail(rule: Rule, counts: Counts | undefined): RuleDetail {
  const { description, version, paranoia, references, falsePositives: knownFalsePositives } = rule;
  const { positive, negative } = rule.examples;
  return {
    ...listing(rule, counts),
    ...{ description, version, paranoia, references, knownFalsePositives },
    examples: {
      positive: positive.map(({ text }) => ({ text })),
      negative: negative.map(({ text, why }) => ({ text, why })),
    },
  };
}
