import { existsSync, rmSync, statfsSync, writeFileSync } from 'node:fs';

/** A file that is there only to be deleted: on a full disk SQLite can't even delete rows or shrink its log. */
export interface Ballast {
  /** Gives its room to the database. */
  release(): void;
  /** Puts it back where there is room again; false where there isn't. */
  restore(): boolean;
  readonly there: boolean;
}

const bytes = 16 * 1024 * 1024;
/** Room beyond the ballast that must be free before it is put back. */
const spare = 16 * 1024 * 1024;

/** The ballast of a data folder, put there if it is missing and there is room. */
export function openBallast(folder: string, file: string): Ballast {
  const room = (): boolean => {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize >= bytes + spare;
  };
  const restore = (): boolean => {
    if (existsSync(file)) return true;
    if (!room()) return false;
    try {
      writeFileSync(file, Buffer.alloc(bytes), { mode: 0o600 });
      return true;
    } catch {
      // Someone else was faster with the room.
      rmSync(file, { force: true });
      return false;
    }
  };
  restore();
  return {
    release: () => rmSync(file, { force: true }),
    restore,
    get there() {
      return existsSync(file);
    },
  };
}
