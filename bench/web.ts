// npm run bench -- web [--runs N]: from the page's load to the first verdict in Chromium, by the rules and with the model.
// npm run bench -- web --data FILE.jsonl.gz [--every N] [--model FOLDER]: what the model says in WebAssembly against Node.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadavg, tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { chromium, type Page } from 'playwright-core';
import type { OnnxRuntime } from '../src/adapters/model/network.js';
import { findModel } from '../src/index.js';
import { type Classifier, createEngine, loadModel, loadPack } from '../src/web/index.js';
import { quantile, timingOf } from './measure.js';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '5' },
    data: { type: 'string' },
    every: { type: 'string', default: '25' },
    model: { type: 'string' },
  },
});
const load = (loadavg()[0] ?? 0).toFixed(1);
if (values.data === undefined) await timeFirstVerdicts(Number(values.runs));
else await compareModels(values.data, Number(values.every), values.model ?? findModel());

/** Each run is a new browser with an empty cache, on files that a plain server on this machine gives. */
async function timeFirstVerdicts(runs: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-bench-web-'));
  execFileSync(process.execPath, ['scripts/playground.mjs', '--out', folder], { stdio: 'ignore' });
  const types: Readonly<Record<string, string>> = {
    '.html': 'text/html',
    '.js': 'text/javascript',
    '.css': 'text/css',
    '.wasm': 'application/wasm',
  };
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname;
    const file = join(folder, path === '/' ? 'index.html' : path);
    if (!file.startsWith(folder) || !existsSync(file)) return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': types[extname(file)] ?? 'application/octet-stream' });
    response.end(readFileSync(file));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const press = (page: Page, name: string | RegExp): Promise<void> => page.getByRole('button', { name }).click();
  const kinds = {
    'by the rules': async (page: Page) => {
      await press(page, 'An order in a mail');
      await page.locator('.badge.block').waitFor();
    },
    'with the model': async (page: Page) => {
      await press(page, /Use the model/);
      await page.getByText(/and the model .* are ready/).waitFor();
      await press(page, 'A benign question');
      await page.getByText(/The model gave 0\.\d\d/).waitFor();
    },
  };
  try {
    console.log(`| first verdict in Chromium | n | p50 | max |\n| - | -: | -: | -: |`);
    for (const [name, screen] of Object.entries(kinds)) {
      const times: number[] = [];
      for (let run = 0; run < runs; run += 1) {
        const browser = await chromium.launch({
          executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
          args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'],
        });
        const page = await browser.newPage();
        page.setDefaultTimeout(120_000);
        const started = performance.now();
        await page.goto(origin);
        await screen(page);
        times.push(performance.now() - started);
        await browser.close();
      }
      const { n, p50, max } = timingOf(times);
      console.log(`| ${name} | ${n} | ${(p50 / 1e6).toFixed(2)} s | ${(max / 1e6).toFixed(2)} s |`);
    }
    console.log(`\nLoad average ${load} before, ${(loadavg()[0] ?? 0).toFixed(1)} after.`);
  } finally {
    server.close();
    rmSync(folder, { recursive: true });
  }
}

/** Both runtimes behind the same code; and Node's own once more with fewer fused operators, whose float32 rounding differs. */
async function compareModels(data: string, every: number, folder: string | undefined): Promise<void> {
  if (folder === undefined) throw new Error('no model is installed: name one by --model');
  const bytes = data.endsWith('.gz') ? gunzipSync(readFileSync(data)) : readFileSync(data);
  const texts = bytes
    .toString('utf8')
    .split('\n')
    .filter((line, index) => line !== '' && index % every === 0)
    .map((line) => (JSON.parse(line) as { readonly text: string }).text)
    .filter((text) => text.length <= 1500);
  const pack = await loadPack(readFileSync('dist/web/core-pack.gz'));
  const readFile = async (name: string) => new Uint8Array(readFileSync(join(folder, name)));
  const screenAll = async (runtime?: () => Promise<OnnxRuntime>) => {
    const model = await loadModel('', { readFile, runtime });
    await model.warmUp();
    let probability: number | undefined;
    const classify: Classifier['classify'] = async (given, options) => {
      const answer = await model.classify(given, options);
      probability = answer.probability;
      return answer;
    };
    const engine = createEngine({ pack, model: { ...model, classify } });
    const said: { readonly verdict: string; readonly probability: number | undefined }[] = [];
    for (const text of texts) {
      probability = undefined;
      const { verdict } = await engine.analyze(text, { timeoutMs: 60_000 });
      said.push({ verdict, probability });
    }
    await engine.close();
    return said;
  };
  const reference = await screenAll(() => native('all'));
  console.log(`| against Node's runtime | texts for the model | p50 | p95 | max | other verdicts of ${texts.length} |`);
  console.log('| - | -: | -: | -: | -: | -: |');
  for (const [name, runtime] of [
    ['WebAssembly', undefined],
    ['the same runtime, graph optimisation `basic`', () => native('basic')],
  ] as const) {
    const said = await screenAll(runtime);
    const differences = said
      .flatMap(({ probability: one }, at) => {
        const other = reference[at]?.probability;
        return one === undefined || other === undefined ? [] : [Math.abs(one - other)];
      })
      .sort((a, b) => a - b);
    const [p50, p95, max] = [0.5, 0.95, 1].map((share) => quantile(differences, share).toFixed(5));
    const others = said.filter(({ verdict }, at) => verdict !== reference[at]?.verdict).length;
    console.log(`| ${name} | ${differences.length} | ${p50} | ${p95} | ${max} | ${others} |`);
  }
}

async function native(graphOptimizationLevel: 'all' | 'basic'): Promise<OnnxRuntime> {
  const { InferenceSession, Tensor } = await import('onnxruntime-node');
  const options = { intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 4, graphOptimizationLevel } as const;
  const create = (bytes: Uint8Array) => InferenceSession.create(bytes, options);
  return { InferenceSession: { create }, Tensor };
}
