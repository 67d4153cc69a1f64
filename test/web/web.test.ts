import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'tsdown';
import { describe, expect, it } from 'vitest';
import { createEngine as createNativeEngine } from '../../src/adapters/create-engine.js';
import { openPack } from '../../src/adapters/packs/open-pack.js';
import { createEngine, loadPack } from '../../src/web/index.js';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-web-'));
const pack = openPack();
const native = createNativeEngine({ pack });

describe('portcullis/web', () => {
  it('says of texts what the native build says', async () => {
    const engine = createEngine({ pack: await loadPack(readFileSync('dist/web/core-pack.gz')) });
    expect(engine.info).toEqual(native.info);
    const lines = ['attacks.txt', 'benign.txt'].flatMap((name) =>
      readFileSync(join('bench', 'texts', name), 'utf8')
        .split('\n')
        .filter(Boolean),
    );
    const examples = pack.rules.flatMap(({ examples: { positive, negative } }) =>
      [positive[0]?.text, negative[0]?.text].filter((text) => text !== undefined),
    );
    const texts = [...lines, ...examples.filter((_, index) => index % 3 === 0)];
    const said = ({ scan }: typeof engine, text: string): unknown => {
      const { evidence_id: _, latency_ms: __, ...verdict } = scan(text, { explain: true });
      return verdict;
    };
    for (const text of texts) expect(said(engine, text)).toEqual(said(native, text));
    expect(texts.length).toBeGreaterThan(300);
  }, 120_000);

  it('refuses a file that is no pack, without a word of it', async () => {
    await expect(loadPack(new TextEncoder().encode('<!doctype html>\n'))).rejects.toMatchObject({
      code: 'PACK_INVALID',
    });
  });

  it('needs nothing of Node', async () => {
    const outDir = join(folder, 'built');
    await build({
      config: false,
      entry: { index: 'src/web/index.ts' },
      outDir,
      platform: 'neutral',
      dts: false,
      logLevel: 'silent',
    });
    const code = readFileSync(join(outDir, 'index.js'), 'utf8');
    const imported = [...code.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)].map(([, name]) => name);
    expect(new Set(imported)).toEqual(new Set(['entities/decode', 'zod', 'onnxruntime-web/wasm']));
  }, 60_000);
});
