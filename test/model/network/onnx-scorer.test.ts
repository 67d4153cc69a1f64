import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type LoadModelOptions, loadModel } from '../../../src/adapters/model/load-model.js';
import type { Classifier, ClassifyOptions } from '../../../src/engine/ports.js';
import { type TinyOptions, writeTinyModel } from '../tiny-model.js';
import { builtChild } from './built-child.js';

const childFile = builtChild();
const opened: Classifier[] = [];

async function open(tiny: TinyOptions, options: LoadModelOptions = {}): Promise<Classifier> {
  const classifier = await loadModel(writeTinyModel(tiny), { childFile, ...options });
  opened.push(classifier);
  return classifier;
}

const ask = (
  classifier: Classifier,
  text: string,
  timeoutMs = 20_000,
  whose: Pick<ClassifyOptions, 'channel' | 'task'> = {},
) => classifier.classify([text], { timeoutMs, maxWindows: 1000, signal: { aborted: false }, ...whose });
const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()));
});

describe.each(['process', 'thread', 'inline'] as const)('a network with isolation %s', (isolation) => {
  it('gives the probability of the greatest logit, and where it lies', async () => {
    const tiny = await open({}, { isolation });
    const answer = await ask(tiny, 'Hello, please ignore the report.');
    expect(answer.probability).toBeCloseTo(1 / (1 + Math.exp(-4)), 6);
    expect(answer.hotspots).toEqual([{ text: 0, span: { start: 14, end: 20 } }]);
    expect(answer.windows).toHaveLength(1);
    const benign = await ask(tiny, 'hello world');
    expect(benign.probability).toBeLessThan(0.3);
    expect(benign.hotspots).toEqual([]);
  });

  it.each([
    ['nan', 'MODEL_OUTPUT'],
    ['wrong-shape', 'MODEL_OUTPUT'],
    ['garbage', 'MODEL_LOAD'],
    ['out-of-memory', 'MODEL_FAILED'],
  ] as const)('rejects for a network that is %s', async (kind, code) => {
    const tiny = await open({ kind }, { isolation });
    await expect(ask(tiny, 'hello')).rejects.toMatchObject({ name: 'ModelError', code });
    await expect(ask(tiny, 'hello')).rejects.toMatchObject({ name: 'ModelError' });
  });

  it("rejects when the network doesn't give its golden values", async () => {
    const tiny = await open({ wrongGolden: true }, { isolation });
    await expect(tiny.warmUp()).rejects.toMatchObject({ code: 'MODEL_GOLDEN' });
  });

  it('asks the second network of a cascade about windows that are not English', async () => {
    const tiny = await open({ deep: 'good' }, { isolation });
    const answer = await ask(tiny, 'ignore report');
    expect(answer.probability).toBeCloseTo(1 / (1 + Math.exp(-4)), 6);
    expect(answer).toMatchObject({ passes: 2, hotspots: [{ text: 0, span: { start: 0, end: 6 } }] });
    expect((await ask(tiny, 'all of this is the report')).passes).toBeUndefined();
  });

  it('rejects where the second network of a cascade is broken', async () => {
    const tiny = await open({ deep: 'garbage' }, { isolation });
    expect((await ask(tiny, 'all of this is the report')).probability).toBeLessThan(0.3);
    await expect(ask(tiny, 'ignore')).rejects.toMatchObject({ code: 'MODEL_LOAD' });
    await expect(tiny.warmUp()).rejects.toMatchObject({ name: 'ModelError' });
  });

  it.each([
    [{}, 4],
    [{ channel: 'unknown' }, 4],
    [{ channel: 'user' }, 4 - 3],
    [{ channel: 'tool_result' }, 4 + 1],
    [{ channel: 'document' }, 4 + 1 + 1],
    [{ channel: 'instructions' }, 4 - 1],
    [{ channel: 'tool_result', task: 'hello world' }, 4 + 1],
    [{ channel: 'tool_result', task: 'please ignore the report' }, 4 + 1 - 2 * Math.tanh(4)],
    [{ channel: 'tool_result', task: 'ignore hello the world' }, 4 + 1],
    [{ channel: 'tool_result', task: ' ' }, 4 + 1],
    [{ channel: 'document', task: 'hello override' }, 4 + 1 + 1 - 2 * Math.tanh(2)],
    [{ channel: 'tool_call', task: 'hello override' }, 4 + 0.5],
    [{ task: 'please ignore the report' }, 4],
  ] as const)('reads channel and task: %o', async (whose, logOdds) => {
    const tiny = await open({ channels: true }, { isolation });
    const answer = await ask(tiny, 'hello, please ignore the report', 20_000, whose);
    expect(answer.probability).toBeCloseTo(sigmoid(logOdds), 6);
    expect(answer.hotspots).toEqual([{ text: 0, span: { start: 14, end: 20 } }]);
    expect((await ask(tiny, 'hello world', 20_000, { channel: 'document', task: 'ignore' })).hotspots).toEqual([]);
  });

  it('leaves channel and task to models that read them', async () => {
    const tiny = await open({}, { isolation });
    const known = await ask(tiny, 'hello world', 20_000, { channel: 'user', task: 'ignore' });
    expect(known).toEqual(await ask(tiny, 'hello world'));
  });

  it('calibrates by channel for a network that does not read it', async () => {
    const folder = writeTinyModel();
    const calibration = { kind: 'platt-windows', scale: 1, bias: 1, per_window: 0 };
    edit(folder, (it) => ({ ...it, channels: { document: { id: 2, calibration } } }));
    const tiny = await loadModel(folder, { childFile, isolation });
    opened.push(tiny);
    const text = 'please ignore the report';
    expect((await ask(tiny, text, 20_000, { channel: 'document' })).probability).toBeCloseTo(sigmoid(4 + 1), 6);
    expect((await ask(tiny, text, 20_000, { channel: 'user' })).probability).toBeCloseTo(sigmoid(4), 6);
  });

  it('gives both networks of a cascade channel and task', async () => {
    const whose = { channel: 'tool_result', task: 'override' } as const;
    const both = await open({ channels: true, deep: 'good' }, { isolation });
    expect((await ask(both, 'ignore report', 20_000, whose)).probability).toBeCloseTo(
      sigmoid(4 + 1 - 2 * Math.tanh(2)),
      6,
    );
  });

  it('takes a second network that does not read the channel, with a calibration by channel', async () => {
    const folder = writeTinyModel({ channels: true, deep: 'plain' });
    const calibration = { kind: 'platt-windows', scale: 1, bias: -2, per_window: 0 };
    const inputs = { ids: 'input_ids', mask: 'attention_mask' };
    edit(folder, ({ deep: { task: _, ...deep } = {}, ...it }) => ({
      ...it,
      deep: { ...deep, inputs, channels: { tool_result: { id: 2, calibration } } },
    }));
    const tiny = await loadModel(folder, { childFile, isolation });
    opened.push(tiny);
    const whose = { channel: 'tool_result', task: 'override' } as const;
    const first = 4 + 1 - 2 * Math.tanh(2);
    expect((await ask(tiny, 'ignore report', 20_000, whose)).probability).toBeCloseTo(
      sigmoid((first + (4 - 2)) / 2),
      6,
    );
  });

  it('rejects once closed', async () => {
    const tiny = await open({}, { isolation });
    await tiny.warmUp();
    await tiny.close();
    await expect(ask(tiny, 'hello')).rejects.toMatchObject({ code: 'MODEL_CLOSED' });
  });

  it('checks the network again when it is loaded after the files were checked', async () => {
    const folder = writeTinyModel();
    const tiny = await loadModel(folder, { childFile, isolation });
    opened.push(tiny);
    flipBit(join(folder, 'model.onnx'));
    await expect(ask(tiny, 'hello')).rejects.toMatchObject({ code: 'MODEL_DIGEST' });
  });
});

describe('loadModel', () => {
  it.each([
    ['no manifest', (folder: string) => rmSync(join(folder, 'manifest.json')), 'MODEL_MISSING'],
    ['no network', (folder: string) => rmSync(join(folder, 'model.onnx')), 'MODEL_MISSING'],
    ['no tokenizer', (folder: string) => rmSync(join(folder, 'tokenizer.json')), 'MODEL_MISSING'],
    ['one bit of the network flipped', (folder: string) => flipBit(join(folder, 'model.onnx')), 'MODEL_DIGEST'],
    [
      'a byte more of tokenizer',
      (folder: string) => appendFileSync(join(folder, 'tokenizer.json'), ' '),
      'MODEL_DIGEST',
    ],
    [
      'a golden file that was changed',
      (folder: string) => appendFileSync(join(folder, 'golden.jsonl'), '\n'),
      'MODEL_DIGEST',
    ],
    [
      'a manifest that is no JSON',
      (folder: string) => writeFileSync(join(folder, 'manifest.json'), '{'),
      'MODEL_MANIFEST',
    ],
    [
      'a manifest with gaps between windows',
      (folder: string) => edit(folder, (it) => ({ ...it, window: { tokens: 34, content: 32, stride: 33 } })),
      'MODEL_MANIFEST',
    ],
    [
      'a manifest that points outside its folder',
      (folder: string) => edit(folder, (it) => ({ ...it, files: { ...it.files, '../x': it.files['model.onnx'] } })),
      'MODEL_MANIFEST',
    ],
    [
      'a manifest without its operating point',
      (folder: string) => edit(folder, (it) => ({ ...it, operating_point: 'other' })),
      'MODEL_MANIFEST',
    ],
    [
      'a cascade whose second network is not listed',
      (folder: string) => edit(folder, ({ files: { 'deep-model.onnx': _, ...files }, ...it }) => ({ ...it, files })),
      'MODEL_MANIFEST',
    ],
    [
      'a network with one of the inputs for channel and task',
      (folder: string) => edit(folder, (it) => ({ ...it, inputs: { ...it.inputs, types: 'types' } })),
      'MODEL_MANIFEST',
    ],
    [
      'a task without channels',
      (folder: string) =>
        edit(folder, (it) => ({
          ...it,
          inputs: { ...it.inputs, types: 'types', channel: 'channel' },
          task: { tokens: 64, bound: 1 },
        })),
      'MODEL_MANIFEST',
    ],
    [
      'a task without its inputs',
      (folder: string) =>
        edit(folder, (it) => ({ ...it, channels: { user: { id: 1 } }, task: { tokens: 64, bound: 1 } })),
      'MODEL_MANIFEST',
    ],
    [
      'a channel without an operating point',
      (folder: string) =>
        edit(folder, (it) => ({
          ...it,
          inputs: { ...it.inputs, types: 'types', channel: 'channel' },
          channels: { user: { id: 1, operating_points: { balanced: { threshold: 0.5 } } } },
        })),
      'MODEL_MANIFEST',
    ],
    ['no second network', (folder: string) => rmSync(join(folder, 'deep-model.onnx')), 'MODEL_MISSING'],
  ])('refuses a folder with %s', async (_, damage, code) => {
    const folder = writeTinyModel({ deep: 'good' });
    damage(folder);
    await expect(loadModel(folder, { childFile })).rejects.toMatchObject({ name: 'ModelError', code });
  });

  it('takes a whole folder, and names weights, tokenizer and calibration in its version', async () => {
    const first = await open({});
    const second = await open({ perWindow: 0.5 });
    expect(first.info.version).toMatch(/^tiny-0\.0\.1\+[0-9a-f]{12}$/);
    expect(second.info.version).not.toBe(first.info.version);
    expect(first.info.thresholds).toEqual({ strict: 0.3, balanced: 0.5, permissive: 0.95 });
  });
});

interface Manifest {
  readonly files: Record<string, unknown>;
  readonly inputs: Record<string, string>;
  readonly deep?: Record<string, unknown>;
}

function edit(folder: string, change: (manifest: Manifest) => unknown): void {
  const file = join(folder, 'manifest.json');
  writeFileSync(file, JSON.stringify(change(JSON.parse(readFileSync(file, 'utf8')) as Manifest)));
}

function flipBit(file: string): void {
  const bytes = readFileSync(file);
  const middle = Math.floor(bytes.length / 2);
  bytes.writeUInt8(bytes.readUInt8(middle) ^ 1, middle);
  writeFileSync(file, bytes);
}
