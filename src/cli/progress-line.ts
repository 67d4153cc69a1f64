import type { WriteStream } from 'node:tty';

/** One line on a terminal that is written over as work goes on; silent elsewhere. */
export interface ProgressLine {
  update(text: string): void;
  clear(): void;
}

/** A progress line that redraws at most every 100 ms. */
export const progressLine = (stream: WriteStream): ProgressLine => {
  let drawn = Number.NEGATIVE_INFINITY;
  return {
    update(text) {
      const now = performance.now();
      if (stream.isTTY !== true || now - drawn < 100) return;
      drawn = now;
      stream.write(`\r\u001b[2K${text.slice(0, (stream.columns || 80) - 1)}`);
    },
    clear() {
      if (stream.isTTY === true) stream.write('\r\u001b[2K');
    },
  };
};
