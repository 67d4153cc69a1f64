import { openPack } from '../../adapters/packs/open-pack.js';
import { serveWorker } from '../../adapters/peer.js';
import type { CompiledPack } from '../../engine/rules/types.js';
import { type RulesReading, scanText, type ToRulesChild } from './scan-text.js';

// A child of `scoreRules`: loads the pack once, then screens pieces of the texts until its parent ends.
let pack: CompiledPack | undefined;

function screen({ packs, overlays, texts, request }: ToRulesChild): readonly RulesReading[] {
  pack ??= openPack({ packs, overlays });
  const opened = pack;
  return texts.map((text) => scanText(opened, text, request));
}

serveWorker(screen, { isExpected: () => false });
