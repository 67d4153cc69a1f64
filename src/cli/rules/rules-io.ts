import { type LoadedPack, loadPack } from '../../adapters/packs/load-pack.js';
import { compileLoaded } from '../../adapters/packs/open-pack.js';
import type { CompiledPack } from '../../engine/rules/types.js';
import { type Paint, paintFor } from '../terminal.js';

/** Output of a rules command, and the current date. Passed in, so that tests can observe it. */
export interface RulesIo {
  readonly out: (text: string) => void;
  readonly paint: Paint;
  /** `YYYY-MM-DD` in UTC. */
  readonly today: string;
}

export interface RulesArgs {
  /** On top of core; with `NO_CORE` in the list by themselves. */
  readonly pack?: readonly string[] | undefined;
  readonly overlay?: readonly string[] | undefined;
  readonly json?: boolean | undefined;
}

export function terminalIo(): RulesIo {
  return {
    out: (text) => void process.stdout.write(text),
    paint: paintFor(process.stdout),
    today: new Date().toISOString().slice(0, 10),
  };
}

/** Loads and compiles what the flags name. @throws PackError with lines and carets */
export function openPack(
  args: RulesArgs,
  io: RulesIo,
): { readonly loaded: LoadedPack; readonly compiled: CompiledPack } {
  const loaded = loadPack({ packs: args.pack, overlays: args.overlay, today: io.today });
  return { loaded, compiled: compileLoaded(loaded) };
}
