/** How one source and label fared. */
export interface SourceRate {
  readonly source: string;
  readonly label: 'injection' | 'benign';
  readonly n: number;
  readonly blocked: number;
}

export interface DetectionRecord {
  readonly date: string;
  /** What judged the texts, as the title says it; "rules alone" where it isn't there. */
  readonly judge?: string;
  /** The file's name. */
  readonly data: string;
  /** Most texts a source and label; null for all. */
  readonly per: number | null;
  readonly rulesVersion: string;
  readonly modelVersion?: string;
  /** Of the side named: the rules', the model's too where there is one. */
  readonly threshold: number;
  readonly modelThreshold?: number;
  readonly sources: readonly SourceRate[];
}

const percent = (share: number): string => `${(100 * share).toFixed(2)} %`;

/** Wilson's 95 % interval of a share. */
const wilson = (hits: number, n: number): readonly [number, number] => {
  if (n === 0) return [0, 1];
  const z = 1.96;
  const share = hits / n;
  const middle = (share + z ** 2 / (2 * n)) / (1 + z ** 2 / n);
  const half = (z / (1 + z ** 2 / n)) * Math.sqrt((share * (1 - share)) / n + z ** 2 / (4 * n ** 2));
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
};

const part = (title: string, sources: readonly SourceRate[]): string => {
  const average = sources.reduce((sum, { n, blocked }) => sum + blocked / n, 0) / sources.length;
  const n = sources.reduce((sum, source) => sum + source.n, 0);
  const blocked = sources.reduce((sum, source) => sum + source.blocked, 0);
  const [low, high] = wilson(blocked, n);
  const rows = sources.map((source) => {
    const [from, to] = wilson(source.blocked, source.n);
    const share = percent(source.blocked / source.n);
    return `| ${source.source} | ${source.n} | ${source.blocked} | ${share} | ${percent(from)} to ${percent(to)} |`;
  });
  return `## ${title}

Average over ${sources.length} sources: **${percent(average)}**. All texts together: ${blocked} of ${n} (${percent(low)} to ${percent(high)}).

| source | n | blocked | rate | 95 % interval |
| - | - | - | - | - |
${rows.join('\n')}
`;
};

/** The record as a page of Markdown. */
export function detectionPage(record: DetectionRecord): string {
  const of = (label: SourceRate['label']): readonly SourceRate[] =>
    record.sources.filter((rate) => rate.label === label);
  const model =
    record.modelVersion === undefined ? '' : `; model ${record.modelVersion}, threshold ${record.modelThreshold}`;
  return `# Detection by ${record.judge ?? 'rules alone'}, ${record.date}

${record.rulesVersion}, threshold ${record.threshold}${model}; ${record.data}, ${record.per === null ? 'every text' : `at most ${record.per} texts a source and label`}.

${part('Attacks found', of('injection'))}
${part('False alarms', of('benign'))}`;
}
