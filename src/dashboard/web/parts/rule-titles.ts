import { useEffect, useState } from 'preact/hooks';
import { callApi } from '../call-api.js';

type Titles = Readonly<Record<string, string>>;

// The rules in force change with a restart of the service; a reload of the page gets them.
const kept: { titles?: Promise<Titles> } = {};

/** Gives the title of a rule by its id; the id itself until the titles are here, and for rules no longer in force. */
export function useRuleTitles(): (rule: string) => string {
  const [titles, setTitles] = useState<Titles>({});
  useEffect(() => {
    kept.titles ??= callApi<{ readonly titles: Titles }>('GET', '/rules/titles').then(
      (response) => response.titles,
      () => {
        // The next page tries again.
        delete kept.titles;
        return {};
      },
    );
    void kept.titles.then(setTitles);
  }, []);
  return (rule) => (rule === 'ml.classifier' ? 'Model' : (titles[rule] ?? rule));
}

/** The page of a rule. */
export function ruleHref(rule: string): string {
  return rule === 'ml.classifier' ? '#/evidence?decidedBy=ml&verdict=block' : `#/rules/${encodeURIComponent(rule)}`;
}
