import { openPack } from '../../adapters/packs/open-pack.js';
import type { CompiledPack } from '../../engine/rules/types.js';
import { type FromRulesChild, scanText, type ToRulesChild } from './scan-text.js';

// A child of `scoreRules`: loads the pack once, then screens pieces of the texts until its parent ends.
let pack: CompiledPack | undefined;

function screen(message: ToRulesChild): FromRulesChild {
  pack ??= openPack({ packs: message.packs, overlays: message.overlays });
  const opened = pack;
  return { piece: message.piece, readings: message.texts.map((text) => scanText(opened, text, message.request)) };
}

process.on('message', (message) => process.send?.(screen(message as ToRulesChild)));
process.on('disconnect', () => process.exit(0));
