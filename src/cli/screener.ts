import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Screener } from '../evaluation/scoring/score-texts.js';
import { findModel } from '../index.js';
import type { EngineFlags } from './engine-flags.js';

/** Who screens, by the flags: with a model unless `--mode rules` or `--model off` says otherwise, or none is installed. */
export const screenerOf = ({ mode, pack, overlay, model }: EngineFlags): Screener => ({
  packs: pack,
  overlays: overlay,
  model: mode === 'rules' || model === 'off' ? false : (model ?? findModel() ?? false),
});

const isFolderWith = (path: string, file: string): boolean =>
  existsSync(path) && statSync(path).isDirectory() && existsSync(join(path, file));

/** The screener with one thing put in its place: a model folder, an overlay (`*.yaml` file) or a pack. */
export const screenerWith = (screener: Screener, old: string): Screener => {
  if (isFolderWith(old, 'manifest.json')) return { ...screener, model: old };
  if (/\.ya?ml$/.test(old)) return { ...screener, overlays: [old] };
  return { ...screener, packs: old === 'core' ? undefined : [old], overlays: undefined };
};
