/** Screens the texts of an answer that a host hands over in pieces. */
import type { OutputStream, Run } from '../policy/index.js';

/** The texts of one answer, each by an id of the host's. */
export interface StreamedTexts {
  /** Takes the next piece of a text, and returns what may be shown by now. */
  write(id: unknown, piece: string): Promise<string>;
  /** Ends a text, and returns the rest of it; '' for one that has none. */
  end(id: unknown): Promise<string>;
  /** Ids of the texts that haven't ended, in the order in which they began. */
  open(): readonly unknown[];
  /** A text that has ended as it was shown; undefined for one that didn't come in pieces. */
  shown(text: string): string | undefined;
}

/** Starts the texts of an answer of a run. */
export function streamTexts(run: Pick<Run, 'outputStream'>, call: Parameters<Run['outputStream']>[0]): StreamedTexts {
  const streams = new Map<unknown, { readonly stream: OutputStream; text: string; shown: string }>();
  const ended = new Map<string, string>();
  return {
    async write(id, piece) {
      const open = streams.get(id) ?? { stream: run.outputStream(call), text: '', shown: '' };
      streams.set(id, open);
      open.text += piece;
      const shown = await open.stream.write(piece);
      open.shown += shown;
      return shown;
    },
    async end(id) {
      const open = streams.get(id);
      if (open === undefined) return '';
      streams.delete(id);
      const rest = await open.stream.end();
      ended.set(open.text, open.shown + rest);
      return rest;
    },
    open: () => [...streams.keys()],
    shown: (text) => ended.get(text),
  };
}
