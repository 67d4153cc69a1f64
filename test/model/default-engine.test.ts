import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { installedCopy } from './installed-copy.js';
import { writeTinyModel } from './tiny-model.js';

const SCRIPT = `
import { analyze, defaultEngine } from './dist/index.js';
const { info } = await defaultEngine();
const { decided_by, verdict, explanation } = await analyze('hello world', { explain: true });
console.log(JSON.stringify({ ...info, decided_by, verdict, error: explanation.model.error }));
`;

interface Report {
  readonly mode: string;
  readonly mode_reason: string | null;
  readonly ml_version: string;
  readonly ml_threshold: number;
  readonly decided_by: string;
  readonly error: string | null;
}

/** Runs a program against the copy, in this folder; it must end by itself. */
async function run(root: string, cwd = root, script = SCRIPT): Promise<Report> {
  const program = join(root, 'program.js');
  writeFileSync(program, script);
  const { stdout } = await promisify(execFile)(process.execPath, [program], { cwd, timeout: 25_000 });
  return JSON.parse(stdout) as Report;
}

/** Installs the optional model's package for programs in this folder: a small model with this id. */
function installModelPackage(folder: string, id: string): void {
  const model = writeTinyModel();
  const manifest = JSON.parse(readFileSync(join(model, 'manifest.json'), 'utf8'));
  writeFileSync(join(model, 'manifest.json'), JSON.stringify({ ...manifest, id }));
  writeFileSync(join(model, 'package.json'), '{ "name": "portcullis-multilingual-1", "version": "0.0.1" }');
  mkdirSync(join(folder, 'node_modules'), { recursive: true });
  renameSync(model, join(folder, 'node_modules', 'portcullis-multilingual-1'));
}

describe('the default engine', () => {
  it('runs by the rules without a model, and says so', async () => {
    const report = await run(installedCopy({ runtime: true, model: undefined }));
    expect(report).toMatchObject({ mode: 'rules', ml_version: 'off', decided_by: 'rules', error: null });
    expect(report.mode_reason).toBe('no model is installed');
  });

  it('runs by the rules without onnxruntime-node, and says what to install', async () => {
    const report = await run(installedCopy({ runtime: false, model: writeTinyModel() }));
    expect(report).toMatchObject({ mode: 'rules', ml_version: 'off', decided_by: 'rules', error: null });
    expect(report.mode_reason).toContain('npm install onnxruntime-node');
  });

  it('runs hybrid with both, and lets the program end', async () => {
    const report = await run(installedCopy({ runtime: true, model: writeTinyModel() }));
    expect(report).toMatchObject({ mode: 'hybrid', mode_reason: null, decided_by: 'ml', error: null });
    expect(report.ml_version).toMatch(/^tiny-0\.0\.1\+/);
  });

  it('runs a model package that is installed beside the library, but none of the current folder', async () => {
    const root = installedCopy({ runtime: true, model: writeTinyModel() });
    const elsewhere = mkdtempSync(join(tmpdir(), 'portcullis-elsewhere-'));
    installModelPackage(elsewhere, 'foreign');
    expect((await run(root, elsewhere)).ml_version).toMatch(/^tiny-/);
    installModelPackage(root, 'beside');
    expect((await run(root, elsewhere)).ml_version).toMatch(/^beside-/);
  });

  it('loads a model by its name', async () => {
    const root = installedCopy({ runtime: true, model: writeTinyModel() });
    const elsewhere = mkdtempSync(join(tmpdir(), 'portcullis-elsewhere-'));
    const load = (name: string): Promise<Report> =>
      run(
        root,
        elsewhere,
        `import { createEngine, loadModel } from './dist/index.js';
         console.log(JSON.stringify(createEngine({ model: await loadModel('${name}') }).info));`,
      );
    // A folder in the current one does not stand for the library's model.
    mkdirSync(join(elsewhere, 'tiny'));
    expect((await load('tiny')).ml_version).toMatch(/^tiny-/);
    await expect(load('portcullis-multilingual-1')).rejects.toThrow(
      'no model folder and no installed package is named portcullis-multilingual-1',
    );
    installModelPackage(elsewhere, 'here');
    expect((await load('portcullis-multilingual-1')).ml_version).toMatch(/^here-/);
    installModelPackage(root, 'beside');
    mkdirSync(join(elsewhere, 'portcullis-multilingual-1'));
    expect((await load('portcullis-multilingual-1')).ml_version).toMatch(/^beside-/);
    await expect(load('.')).rejects.toThrow('. is not the folder of a model: it has no manifest.json');
  });

  it('takes no model from the current folder by a relative place in NODE_PATH', async () => {
    const root = installedCopy({ runtime: true, model: writeTinyModel() });
    const elsewhere = mkdtempSync(join(tmpdir(), 'portcullis-elsewhere-'));
    installModelPackage(elsewhere, 'foreign');
    vi.stubEnv('NODE_PATH', 'node_modules');
    try {
      expect((await run(root, elsewhere)).ml_version).toMatch(/^tiny-/);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it('says in each answer that the model is damaged', async () => {
    const model = writeTinyModel();
    writeFileSync(join(model, 'model.onnx'), 'damaged');
    const report = await run(installedCopy({ runtime: true, model }));
    expect(report).toMatchObject({ mode: 'hybrid', decided_by: 'ml-error-rules-fallback', error: 'MODEL_DIGEST' });
    expect(report.mode_reason).toContain('model.onnx differs');
    const { operating_points, operating_point } = JSON.parse(readFileSync(join(model, 'manifest.json'), 'utf8'));
    expect(report.ml_threshold).toBe(operating_points[operating_point].threshold);
  });
});

describe('a scoring process', () => {
  it('ends when its parent is killed', async () => {
    const root = installedCopy({ runtime: true, model: writeTinyModel() });
    const program = `
      import { analyze } from './dist/index.js';
      await analyze('hello world');
      console.log('scored');
      setInterval(() => {}, 1000);
    `;
    writeFileSync(join(root, 'program.js'), program);
    const parent = spawn(process.execPath, ['program.js'], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
    await once(parent.stdout, 'data');
    const pid = Number(readFileSync(`/proc/${parent.pid}/task/${parent.pid}/children`, 'utf8'));
    expect(process.kill(pid, 0)).toBe(true);
    parent.kill('SIGKILL');
    const end = Date.now() + 10_000;
    let alive = true;
    while (alive && Date.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      try {
        process.kill(pid, 0);
      } catch {
        alive = false;
      }
    }
    expect(alive).toBe(false);
  });
});
