/** Screens the texts of an answer that a host hands over in pieces. */
import type { OutputStream, Run } from '../policy/index.js';

/** `joined`: a text that goes on with the one before it. `thought`: what the model thinks, which its provider may sign. */
export type TextKind = 'text' | 'joined' | 'thought';

/** The texts of one answer, each by an id of the host's. */
export interface StreamedTexts {
  /** Takes the next piece of a text, and returns what may be shown by now. */
  write(id: unknown, piece: string, kind?: TextKind): Promise<string>;
  /** Ends a text, and returns the rest of it; '' for one that has none. */
  end(id: unknown, isSigned?: boolean): Promise<string>;
  /** Ids of the texts that haven't ended, in the order in which they began. */
  open(): readonly unknown[];
  /** A text that has ended as it was shown; undefined for one that didn't come in pieces. */
  shown(text: string, isSigned?: boolean): string | undefined;
}

/** Starts the texts of an answer of a run. */
export function streamTexts(run: Pick<Run, 'outputStream'>, call: Parameters<Run['outputStream']>[0]): StreamedTexts {
  const streams = new Map<unknown, { readonly stream: OutputStream; text: string; shown: string }>();
  const ended = new Map<string, string>();
  const signed = new Set<string>();
  let joined: OutputStream | undefined;

  function begin(kind: TextKind): OutputStream {
    // Texts that come at the same time are not one.
    const isTaken = [...streams.values()].some(({ stream }) => stream === joined);
    if (kind !== 'joined' || isTaken) return run.outputStream({ ...call, isSigned: kind === 'thought' });
    joined ??= run.outputStream(call);
    return joined;
  }

  return {
    async write(id, piece, kind = 'text') {
      const open = streams.get(id) ?? { stream: begin(kind), text: '', shown: '' };
      streams.set(id, open);
      open.text += piece;
      const shown = await open.stream.write(piece);
      open.shown += shown;
      return shown;
    },
    async end(id, isSigned = false) {
      const open = streams.get(id);
      if (open === undefined) return '';
      const rest = await open.stream.end(isSigned);
      streams.delete(id);
      if (isSigned) signed.add(open.text);
      else ended.set(open.text, open.shown + rest);
      return rest;
    },
    open: () => [...streams.keys()],
    shown: (text, isSigned = false) => (!isSigned ? ended.get(text) : signed.has(text) ? text : undefined),
  };
}
