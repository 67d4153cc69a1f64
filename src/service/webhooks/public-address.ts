import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { PortcullisError } from '../../engine/errors.js';

/** Networks that aren't on the public Internet. @see IANA special-purpose address registries, RFC 6890 */
const SPECIAL = [
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24',
  '192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3',
  // Teredo and other protocols' own addresses, documentation, 6to4: each may hold a private IPv4 address.
  '2001::/23 2001:db8::/32 2002::/16 3fff::/20',
];
const special = new BlockList();
for (const [address = '', bits] of SPECIAL.flatMap((line) => line.split(' ')).map((network) => network.split('/')))
  special.addSubnet(address, Number(bits), isIP(address) === 4 ? 'ipv4' : 'ipv6');

/** Global unicast: everything else of IPv6 is local, mapped, translated or reserved. */
const global6 = new BlockList();
global6.addSubnet('2000::', 3, 'ipv6');

/** Whether an address is reached over the public Internet. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 4) return !special.check(address, 'ipv4');
  return isIP(address) === 6 && global6.check(address, 'ipv6') && !special.check(address, 'ipv6');
}

/** Returns the fault of a webhook's URL; undefined where it has none. Names are resolved, and judged, when a message is sent. */
export function urlProblem(text: string, allowPrivate: boolean): string | undefined {
  if (!URL.canParse(text)) return 'That is not a URL.';
  const { protocol, hostname, username, password } = new URL(text);
  if (protocol !== 'https:' && !(allowPrivate && protocol === 'http:')) return 'A webhook’s URL begins with https://.';
  if (username !== '' || password !== '') return 'Leave user name and password out of the URL; messages are signed.';
  const host = hostname.replace(/^\[|\]$/g, '');
  if (allowPrivate) return undefined;
  if (isIP(host) !== 0 && !isPublicAddress(host)) return 'This address is not on the public Internet.';
  return isLocalName(host) ? 'This name is not on the public Internet.' : undefined;
}

/** Whether a name belongs to this machine or a local network, regardless of what it resolves to. @see RFC 6761, RFC 8375 */
function isLocalName(host: string): boolean {
  return /(^|\.)(localhost|local|internal|home\.arpa)\.?$/i.test(host);
}

/** An address that a name resolved to is refused. */
export class PrivateAddressError extends PortcullisError {
  override readonly name = 'PrivateAddressError';
  readonly code = 'PRIVATE_ADDRESS';

  constructor() {
    super('the name resolves to an address that is not on the public Internet');
  }
}

/** All addresses of a name; rejects where it has none. */
export type ResolveName = (name: string) => Promise<readonly LookupAddress[]>;

/**
 * By DNS alone, with an end: the system's own resolver holds one of the few threads that this process has for it, and for
 * writing its log, as long as a name server likes.
 */
const resolveByDns: ResolveName = async (name) => {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  const found = await Promise.allSettled([
    resolver.resolve4(name).then((all) => all.map((address) => ({ address, family: 4 }))),
    resolver.resolve6(name).then((all) => all.map((address) => ({ address, family: 6 }))),
  ]);
  const addresses = found.flatMap((it) => (it.status === 'fulfilled' ? it.value : []));
  if (addresses.length > 0) return addresses;
  throw found[0].status === 'rejected' ? found[0].reason : new Error('the name has no address');
};

/**
 * Resolves a name for a connection, and refuses it where any of its addresses isn't public. The connection is made to the very
 * addresses that were judged: a name that resolves to something else a moment later gains nothing.
 */
export function publicLookup(resolveName: ResolveName = resolveByDns): LookupFunction {
  return (hostname, options, callback) => {
    const judged = isLocalName(hostname) ? Promise.reject(new PrivateAddressError()) : resolveName(hostname);
    judged.then(
      (addresses) => {
        if (addresses.some(({ address }) => !isPublicAddress(address))) callback(new PrivateAddressError(), '', 0);
        else if (options.all) callback(null, [...addresses]);
        else callback(null, addresses[0]?.address ?? '', addresses[0]?.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, '', 0),
    );
  };
}
