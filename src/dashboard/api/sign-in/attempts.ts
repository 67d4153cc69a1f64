import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AttemptStore } from '../../../store/user-store.js';
import { toNetwork } from '../../client-network.js';
import { ApiError } from '../api-parts.js';

/** Failures that cost nothing; from the next one on the delay doubles from a second. */
interface Policy {
  readonly free: number;
  readonly mostMs: number;
}

const ofPerson: Policy = { free: 5, mostMs: 15 * 60_000 };
const ofAddress: Policy = { free: 30, mostMs: 5 * 60_000 };

const delayOf =
  ({ free, mostMs }: Policy) =>
  (failures: number): number =>
    failures <= free ? 0 : Math.min(mostMs, 1_000 * 2 ** Math.min(30, failures - free - 1));

/** A password attempt in progress; it counts as failed unless `right()` is called. */
export interface Attempt {
  right(): Promise<void>;
}

/**
 * Begins an attempt at a person's password. `person` names what is counted: an e-mail, or a browser that the person signed
 * in from before: whoever else guesses at the e-mail doesn't keep that one out, and nor does its address.
 *
 * @throws ApiError 429 where failures before it make it wait
 */
export async function beginAttempt(
  attempts: AttemptStore,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  person: string,
  isKnownDevice: boolean,
): Promise<Attempt> {
  // One customer of IPv6 has 2^64 addresses, each of which would have guesses of its own.
  const address = `address ${toNetwork(request.ip)}`;
  const counted: readonly (readonly [string, Policy])[] = isKnownDevice
    ? [[person, ofPerson]]
    : [
        [address, ofAddress],
        [person, ofPerson],
      ];
  const begun: string[] = [];
  for (const [name, policy] of counted) {
    const waitMs = await attempts.begin(name, delayOf(policy));
    if (waitMs > 0) {
      // Nothing was tried: it counts nowhere.
      for (const other of begun) await attempts.takeBack(other);
      const seconds = Math.ceil(waitMs / 1000);
      reply.header('Retry-After', String(seconds));
      throw new ApiError(429, `Too many failed attempts. Try again in ${inWords(seconds)}.`);
    }
    begun.push(name);
  }
  return {
    async right() {
      await attempts.forget(person);
      // Somebody else at this address may be guessing.
      if (!isKnownDevice) await attempts.takeBack(address);
    },
  };
}

function inWords(seconds: number): string {
  if (seconds < 90) return seconds === 1 ? '1 second' : `${seconds} seconds`;
  return `${Math.ceil(seconds / 60)} minutes`;
}
