// `npm run bench`: builds what is missing, then the bench itself, and runs it.
// -- --quick: a short run; -- --data FILE.jsonl: other texts; -- --record NAME: where the record goes.
// -- model [--model FOLDER] [--isolation thread] [--most CHARACTERS]: what the model's way costs over a bare session.run on the same tokens.
// -- task [--base FOLDER] [--rounds N] [--isolation thread]: what channel and task cost a window of 128 tokens, against an older model.
// -- stages [--base DIST] [--record NAME]: CPU time of a scan by stage and length, and of another build on the same texts.
// -- batch [--rows N] [--mode hybrid]: what a batch costs over the bare scan of its rows.
// -- store [--records N]: lists and searches over a million evidence records in the embedded database.
// -- dashboard --data DIR: the dashboard's routes over the records that `store --data DIR` made.
// -- service [--record]: the service with durable evidence against a bare fastify echo of the same bodies.
// -- service-start [--base DIST] [--mode hybrid] [--record NAME]: time and CPU until the service is ready, and the first calls after it.
// -- tenants [--kinds flood,slow] [--record]: what one account does to the latencies of another, and an equal load outside the service.
// -- hostile-client [--dist DIR]: the attacks of bench/record/hostile-service.md against a build of the service.
// -- benign-threshold --data FILE.jsonl --source NAME: whether `tune --benign-only` keeps its word on real texts.
// -- detection --data FILE.jsonl: what the rules find on labelled texts, instead of how fast.
// -- files [--mode hybrid] FOLDER...: how many text files of some folders are blocked; real code and documentation is benign.
// -- encoded --data FILE.jsonl: whether encoding a text changes what is said of it.
// -- redact --data FILE.jsonl.gz: what `redact` leaves of attacks and of the benign text around them.
// -- mcp [--calls N] [--mode hybrid]: what the MCP gateway adds to a tool call against a direct connection.
// -- agent [--runs N] [--record]: what a guard adds to a step of an agent, and that it screens nothing twice.
// -- flow [--results N] [--suspicious SHARE]: what a call's flow check costs in a long run, and the run's memory.
// -- runs [--model] [--operating-point NAME] [--show]: what each defence refuses of 40 honest runs of an agent, and stops of 60 attacked ones.
// -- output: what of 40 forms of exfiltration is stopped, and which of 200 honest answers with links are changed.
// -- opentelemetry [--texts N] [--record]: what instrumentation adds to a screening of 1 kB.
// -- web [--runs N]: from the page's load to the first verdict in Chromium; with --data FILE.jsonl.gz: the model in WebAssembly against Node.
// -- memory [--base DIST] [--rounds N] FILE.jsonl.gz...: resident memory and CPU time over 8,000 varied texts, each build in fresh processes.
// -- conversation [--runs N] [--messages N]: what the last step of a growing conversation costs over its new message alone.
// -- parity --data FILE.jsonl: whether the runtime says what the training pipeline says.
import { spawnSync } from 'node:child_process';
import { buildTool } from './build-tool.mjs';
import { ensureBuilt, ensureInstalled, root } from './checkout.mjs';

if (!(await ensureInstalled()) || !(await ensureBuilt())) process.exit(2);
const [first, ...rest] = process.argv.slice(2);
const programs = {
  detection: 'bench/detection.ts',
  encoded: 'bench/encoded.ts',
  files: 'bench/files.ts',
  parity: 'bench/parity.ts',
  model: 'bench/model-latency.ts',
  task: 'bench/task-latency.ts',
  stages: 'bench/stages.ts',
  store: 'bench/store.ts',
  dashboard: 'bench/dashboard.ts',
  service: 'bench/service.ts',
  tenants: 'bench/tenants.ts',
  'hostile-client': 'bench/hostile-client.ts',
  'service-start': 'bench/service-start.ts',
  'benign-threshold': 'bench/benign-threshold.ts',
  redact: 'bench/redact.ts',
  batch: 'bench/batch.ts',
  mcp: 'bench/mcp.ts',
  agent: 'bench/agent.ts',
  flow: 'bench/flow.ts',
  runs: 'bench/runs.ts',
  output: 'bench/output.ts',
  opentelemetry: 'bench/opentelemetry.ts',
  web: 'bench/web.ts',
  memory: 'bench/memory.ts',
  conversation: 'bench/conversation.ts',
};
const chosen = programs[first];
if (first === 'service') await buildTool('bench/service/echo.ts');
const file = await buildTool(chosen ?? 'bench/main.ts');
const args = chosen ? rest : process.argv.slice(2);
const { status } = spawnSync(process.execPath, [file, ...args], {
  cwd: root,
  stdio: 'inherit',
});
process.exitCode = status ?? 2;
