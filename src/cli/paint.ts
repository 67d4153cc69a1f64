import type { WriteStream } from 'node:tty';

/** Wraps text in terminal styles, or leaves it alone. */
export interface Paint {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  /** For a part of the screened text that a rule points at. */
  readonly marked: (text: string) => string;
  /** False when every style is the identity. */
  readonly colours: boolean;
}

const plain = (text: string): string => text;
const style =
  (open: number, close: number) =>
  (text: string): string =>
    `\u001b[${open}m${text}\u001b[${close}m`;

/** Styles for a stream: colour on a terminal alone, and never when NO_COLOR is set. */
export const paintFor = (
  stream: Pick<WriteStream, 'isTTY'>,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Paint => {
  const colours = stream.isTTY === true && !environment.NO_COLOR && environment.TERM !== 'dumb';
  if (!colours) return { bold: plain, dim: plain, red: plain, green: plain, marked: plain, colours };
  return {
    bold: style(1, 22),
    dim: style(2, 22),
    red: style(31, 39),
    green: style(32, 39),
    marked: (text) => style(43, 49)(style(30, 39)(text)),
    colours,
  };
};
