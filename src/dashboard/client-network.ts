import { isIP } from 'node:net';

/** An IPv4 address that a dual-stack socket shows as `::ffff:a.b.c.d`. */
export function withoutMapping(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}

/** The address of an IPv4 client; the /64 network of an IPv6 client, which is one customer's. */
export function toNetwork(address: string): string {
  const plain = withoutMapping(address);
  if (isIP(plain) !== 6) return plain;
  const [head = '', tail] = (plain.split('%')[0] ?? plain).split('::');
  const groups = head === '' ? [] : head.split(':');
  const missing = tail === undefined ? 0 : 8 - groups.length - (tail === '' ? 0 : tail.split(':').length);
  const zeros: string[] = new Array(missing).fill('0');
  return [...groups, ...zeros, ...(tail ? tail.split(':') : [])].slice(0, 4).join(':');
}
