import type { Span } from '../opentelemetry/collector.js';

const ROW = 26;
const NAMES = 400;
const WIDTH = 1120;
const COLOURS = { host: '#6b7a90', allow: '#2f855a', deny: '#c53030' } as const;

const microseconds = ([seconds, nanoseconds]: readonly [number, number]): number => seconds * 1e6 + nanoseconds / 1e3;
const escaped = (text: string): string => text.replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`);
const took = ({ duration }: Span): string => {
  const time = microseconds(duration);
  return time < 1000 ? `${time.toFixed(0)} µs` : `${(time / 1000).toFixed(1)} ms`;
};

/** Draws the spans of one trace as an SVG: a row each, in the order of their starts, children indented below their parents. */
export function drawTrace(spans: readonly Span[]): string {
  const byId = new Map(spans.map((span) => [span.spanContext().spanId, span]));
  const depthOf = (span: Span): number => {
    const parent = byId.get(span.parentSpanContext?.spanId ?? '');
    return parent === undefined ? 0 : depthOf(parent) + 1;
  };
  const start = Math.min(...spans.map(({ startTime }) => microseconds(startTime)));
  const whole = Math.max(...spans.map(({ endTime }) => microseconds(endTime))) - start;
  const rows: string[] = [];
  let y = 44;
  const text = (x: number, more: string, content: string): number =>
    rows.push(`<text x="${x}" y="${y}" ${more}>${escaped(content)}</text>`);
  for (const span of inOrder(spans)) {
    const decision = span.attributes['gen_ai.security.decision.type'];
    const colour = COLOURS[decision === undefined ? 'host' : decision === 'allow' ? 'allow' : 'deny'];
    const left = 16 + depthOf(span) * 18;
    const scale = (WIDTH - NAMES - 170) / whole;
    const x = NAMES + (microseconds(span.startTime) - start) * scale;
    const width = Math.max(2, microseconds(span.duration) * scale);
    text(left, `fill="${colour}"`, span.name);
    rows.push(
      `<rect x="${x.toFixed(1)}" y="${y - 11}" width="${width.toFixed(1)}" height="13" rx="2" fill="${colour}"/>`,
    );
    const ours = decision === undefined ? '' : ` · ${span.attributes['gen_ai.security.target.type']}: ${decision}`;
    text(x + width + 6, 'class="s"', `${took(span)}${ours}`);
    y += ROW;
    if (decision === undefined || decision === 'allow') continue;
    for (const { name, attributes = {} } of span.events) {
      const of = (key: string): unknown => attributes[key];
      const rule = of('gen_ai.guardrail.policy.rule.id');
      const severity = of('gen_ai.guardrail.result.value');
      text(left + 18, 'class="s"', `${name}: ${rule}, ${severity}, ${of('gen_ai.guardrail.risk.score')}`);
      y += 18;
    }
    y += 8;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" font-family="ui-sans-serif, system-ui, sans-serif" font-size="13">
<title>A trace of ${spans.length} spans</title>
<style>.s{font-size:11.5px;fill:#4a5568}</style>
<rect width="${WIDTH}" height="${y}" fill="#fff"/>
<text x="16" y="20" class="s">One trace, ${spans.length} spans: the AI SDK&#39;s own and the guard&#39;s</text>
${rows.join('\n')}
</svg>
`;
}

/** Parents before their children, brothers by their start. */
function inOrder(spans: readonly Span[]): readonly Span[] {
  const sorted = [...spans].sort((a, b) => microseconds(a.startTime) - microseconds(b.startTime));
  const ids = new Set(spans.map((span) => span.spanContext().spanId));
  const below = (parent: string | undefined): readonly Span[] =>
    sorted
      .filter(({ parentSpanContext }) => {
        const id = parentSpanContext?.spanId;
        return (id !== undefined && ids.has(id) ? id : undefined) === parent;
      })
      .flatMap((span) => [span, ...below(span.spanContext().spanId)]);
  return below(undefined);
}
