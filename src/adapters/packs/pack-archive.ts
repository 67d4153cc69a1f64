import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { PackContent } from '../../engine/rules/pack/stack-packs.js';
import { type LoadOptions, loadPack, NO_CORE } from './load-pack.js';
import { writePackBundle } from './pack-bundle.js';

/** Rules with all that gives them their version, as one text. */
export interface PackArchive {
  readonly rulesVersion: string;
  readonly text: string;
}

/** Of its own and never changed: an archive outlives the format of bundles. */
const FORMAT = 1;

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;
const archiveSchema = z.object({
  format: z.literal(FORMAT),
  today: z.string(),
  packs: z.array(z.custom<PackContent>(isObject)),
  overlays: z.array(z.custom<object>(isObject)),
});

/** Reads packs and overlays as `loadPack` does, for keeping. @throws PackError */
export function archivePacks(options: LoadOptions): PackArchive {
  const { pack, contents, overlays } = loadPack(options);
  const packs = contents.map(({ head, words, rules }) => ({ head, words, rules }));
  const text = JSON.stringify({ format: FORMAT, today: options.today, packs, overlays });
  return { rulesVersion: pack.rulesVersion, text };
}

/** Lays an archive's packs and overlays into a folder, for `loadPack`. Undefined for a text that is no archive. */
export function unpackArchive(text: string, folder: string): LoadOptions | undefined {
  const archive = archiveSchema.safeParse(jsonIn(text));
  if (!archive.success) return undefined;
  const laid = (name: string, content: string): string => {
    const file = join(folder, name);
    writeFileSync(file, content);
    return file;
  };
  return {
    today: archive.data.today,
    packs: [NO_CORE, ...archive.data.packs.map((pack, i) => laid(`pack-${i}.json`, writePackBundle(pack)))],
    // JSON is YAML.
    overlays: archive.data.overlays.map((overlay, i) => laid(`overlay-${i}.yaml`, JSON.stringify(overlay))),
  };
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
