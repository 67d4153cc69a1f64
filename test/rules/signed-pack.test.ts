import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadPack, TRUST } from '../../src/adapters/packs/load-pack.js';
import { isSigned, readPublicKey, signFile } from '../../src/adapters/packs/minisign.js';
import { withTrust } from '../../src/cli/engine-flags.js';
import { signPack } from '../../src/cli/rules/list-rules.js';
import { paintFor } from '../../src/cli/terminal.js';

// Made by minisign 0.11: `minisign -G -W`, `minisign -S -m test -t 'a trusted comment'` and the same with `-l`.
const PUBLIC = 'RWTvUmAy5ijbriaoJbQlUqfpdcZmyW2C4ncxL02QRMkekTXQ9MyzCmeM';
const SECRET = `untrusted comment: minisign encrypted secret key
RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA71JgMuYo265RRo4n/cbhqk6OqyXEloPuxkuqvBnHZoV1ME0ihCI5JiaoJbQlUqfpdcZmyW2C4ncxL02QRMkekTXQ9MyzCmeMAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=
`;
const SIGNATURE = `untrusted comment: signature from minisign secret key
RUTvUmAy5ijbrmfju9CXwER3VWwVFWp7RaVg61uYT94IknwzJR5fXd03aH1uAYpGYF+4mZlPtbCZGr50PQOj6bJGamenkg/BnAI=
trusted comment: a trusted comment
74eQMAeeQf5y3WrzuwTm65xl0+BKVIPm3CnTnxv0X4x+7HlDff4BUB1o+X8HeepCPw3FLWGzuoWvC6U1vUW0Dg==
`;
const LEGACY = `untrusted comment: signature from minisign secret key
RWTvUmAy5ijbrrY8ogRu5GVSQ6UCRW39qQt4sqJZgIjgKfye1YVQW5a73cWgbeaK4ku/bBcMqz6EXnu4NIZwXUYCJDRpWKPWcw0=
trusted comment: old
zgqQ/2HKeUG4GJGPVinC1LLHwVM/9zXNDN9YPVROib3Ih6Kd/GOnnX0O+xx2SnahoXs870UzK9ZsRcdlLa4JAw==
`;
/** Of the documentation of minisign. */
const OTHER = 'RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3';

const keys = [PUBLIC].flatMap((text) => readPublicKey(text) ?? []);
const others = [OTHER].flatMap((text) => readPublicKey(text) ?? []);
const file = Buffer.from('test');

describe('a signature of minisign', () => {
  it.each([
    ['its own', file, SIGNATURE, keys, true],
    ['by one of several keys', file, SIGNATURE, [...others, ...keys], true],
    ['with Windows line ends', file, SIGNATURE.replaceAll('\n', '\r\n'), keys, true],
    ['of another file', Buffer.from('Test'), SIGNATURE, keys, false],
    ['by another key', file, SIGNATURE, others, false],
    ['by no key', file, SIGNATURE, [], false],
    ['with another trusted comment', file, SIGNATURE.replace('a trusted', 'A trusted'), keys, false],
    ['with a changed byte', file, SIGNATURE.replace('rmfju9', 'rmfju8'), keys, false],
    ['with a changed byte in the second signature', file, SIGNATURE.replace('74eQ', '75eQ'), keys, false],
    ['cut off', file, SIGNATURE.split('\n').slice(0, 2).join('\n'), keys, false],
    ['of the older kind, without a hash', file, LEGACY, keys, false],
    ['empty', file, '', keys, false],
  ])('%s', (_name, bytes, signature, by, expected) => {
    expect(isSigned(bytes, signature, by)).toBe(expected);
  });

  it('is what a secret key makes', () => {
    const signature = signFile(file, SECRET, 'ours') ?? '';
    expect(isSigned(file, signature, keys)).toBe(true);
    expect(isSigned(Buffer.from('Test'), signature, keys)).toBe(false);
    expect(signFile(file, SIGNATURE, 'ours')).toBeUndefined();
    // The algorithm of a password: scrypt.
    expect(signFile(file, SECRET.replace('RWQAAEIy', 'RWRTY0Iy'), 'ours')).toBeUndefined();
  });

  it('has keys in a file too, and no others', () => {
    expect(readPublicKey(`untrusted comment: minisign public key\n${PUBLIC}\n`)?.id).toEqual(keys[0]?.id);
    expect([PUBLIC.slice(0, -4), '', 'RW', SECRET].map(readPublicKey)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    expect(() => withTrust([], ['RWnot-a-key'])).toThrow('--trust takes a public key');
    expect(withTrust(['a.json'], [PUBLIC])).toEqual([`${TRUST}${PUBLIC}`, 'a.json']);
  });
});

describe('a service that trusts one key', () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-signed-'));
  const bundle = join(folder, 'sea.json');
  const source = join(folder, 'sea');
  const key = join(folder, 'minisign.key');
  const load = (pack: string, trusted = PUBLIC) =>
    loadPack({ packs: ['-core', ...withTrust([pack], [trusted])], today: '2026-11-24' }).pack;
  const said: string[] = [];

  beforeAll(() => {
    mkdirSync(join(source, 'sea'), { recursive: true });
    writeFileSync(
      join(source, 'pack.yaml'),
      'name: sea\nversion: 1.2.3\ndescription: Of a test.\nlicence: Apache-2.0\nthreshold: 0.5\n',
    );
    writeFileSync(
      join(source, 'sea', 'walrus.yaml'),
      "id: sea.walrus\nversion: 1.0.0\ntitle: A walrus\ndescription: Detects a walrus.\nstatus: stable\nseverity: high\nscore: 0.8\nmatch:\n  any: ['grey walrus']\n",
    );
    writeFileSync(key, SECRET);
    const io = { out: (text: string) => void said.push(text), paint: paintFor({ isTTY: false }), today: '2026-11-24' };
    expect(signPack({ pack: ['-core', source], sign: key, out: bundle }, io)).toBe(0);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('loads what `rules export --sign` wrote', () => {
    expect(said.join('')).toContain('sea 1.2.3, 1 rules');
    const unsigned = loadPack({ packs: ['-core', source], today: '2026-11-24' }).pack;
    expect(load(bundle).rulesVersion).toBe(unsigned.rulesVersion);
    expect(readFileSync(`${bundle}.minisig`, 'utf8')).toContain('trusted comment: portcullis pack sea 1.2.3\n');
  });

  const changed = (name: string, bytes: Buffer, signature: string | undefined): string => {
    const path = join(folder, name);
    writeFileSync(path, bytes);
    if (signature !== undefined) writeFileSync(`${path}.minisig`, signature);
    return path;
  };
  const whole = () => readFileSync(bundle);
  const signature = () => readFileSync(`${bundle}.minisig`, 'utf8');

  it.each([
    ['by another key', () => load(bundle, OTHER), 'not what a trusted key signed'],
    [
      'that has a changed byte',
      () => load(changed('a.json', Buffer.from(whole().toString().replace('0.8', '0.1')), signature())),
      'not what a trusted key signed',
    ],
    ['without a signature', () => load(changed('b.json', whole(), undefined)), 'is not signed'],
    [
      'with the signature of another file',
      () => load(changed('c.json', whole(), SIGNATURE)),
      'not what a trusted key signed',
    ],
    ['that is a folder', () => load(source), 'is not signed'],
  ])('refuses a pack %s', (_name, open, message) => {
    expect(open).toThrow(message);
    expect(open).toThrow('PACK016');
  });

  it('reads nothing but the bundle: a prepared pack beside it is not signed', () => {
    const path = changed('d.json', whole(), signature());
    writeFileSync(path.replace('.json', '.bin'), 'not signed');
    expect(load(path).rulesVersion).toBe(load(bundle).rulesVersion);
    expect(() => load(path.replace('.json', '.bin'))).toThrow('PACK016');
  });

  it('refuses a key that is none', () => {
    expect(() => loadPack({ packs: [`${TRUST}RWnone`], today: '2026-11-24' })).toThrow('public key of minisign');
  });
});
