// Checks deploy/: Kubernetes manifests against the schemas of Kubernetes, that alerts and the dashboard ask for metrics that the service
// has, and that each alert names a part of the runbook.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { parse } from 'yaml';
import { pythonLinter } from './linters.mjs';

const problems = [];
const read = (...path) => readFileSync(join('deploy', ...path), 'utf8');

const { resources } = parse(read('kubernetes', 'kustomization.yaml'));
const manifests = readdirSync(join('deploy', 'kubernetes')).filter((name) => name !== 'kustomization.yaml');
if (resources.toSorted().join() !== manifests.toSorted().join())
  problems.push('kustomization.yaml: resources are not the files there');
const files = manifests.map((name) => join('deploy', 'kubernetes', name));
const objection = await pythonLinter('kubernetes-validate', ['--strict', '--quiet', ...files]);
if (objection !== undefined) problems.push(objection);

const registry = new Registry();
collectDefaultMetrics({ register: registry });
const ours = [...readFileSync(join('src', 'service', 'metrics.ts'), 'utf8').matchAll(/'(portcullis_\w+)'/g)].map(
  ([, name]) => name,
);
const known = new Set([...ours, ...registry.getMetricsAsArray().map(({ name }) => name), 'up']);
if (ours.length < 7) problems.push(`${ours.length} metrics in src/service/metrics.ts`);
const checkQuery = (where, query) => {
  const names = query.match(/\b(?:portcullis|nodejs|process)_\w+|\bup\b/g) ?? [];
  if (names.length === 0) problems.push(`${where}: no metric in ${query}`);
  for (const name of names)
    if (!known.has(name.replace(/_bucket$/, ''))) problems.push(`${where}: the service has no metric ${name}`);
};

const runbook = readFileSync(join('docs', 'runbook.md'), 'utf8');
const anchors = [...runbook.matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
  title
    .toLowerCase()
    .replace(/[^\w -]/g, '')
    .replaceAll(' ', '-'),
);
const alerts = parse(read('prometheus', 'rules.yaml')).groups.flatMap(({ rules }) => rules);
for (const { alert, expr, annotations } of alerts) {
  checkQuery(alert, expr);
  if (!anchors.includes(annotations.runbook.replace('docs/runbook.md#', '')))
    problems.push(`${alert}: the runbook has no such part`);
}
const { panels } = JSON.parse(read('grafana', 'portcullis.json'));
for (const { title, targets } of panels) for (const { expr } of targets) checkQuery(title, expr);

for (const problem of problems) console.error(problem);
console.log(
  `deploy: ${files.length} manifests, ${alerts.length} alerts, ${panels.length} panels, ${problems.length} problems`,
);
process.exitCode = problems.length > 0 ? 1 : 0;
