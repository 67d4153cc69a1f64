import { createRequire } from 'node:module';

let known: string | undefined;

export function packageVersion(): string {
  known ??= versionRead();
  return known;
}

const versionRead = (): string => {
  const read: unknown = createRequire(import.meta.url)('portcullis/package.json');
  return typeof read === 'object' && read !== null && 'version' in read ? String(read.version) : 'unknown';
};
