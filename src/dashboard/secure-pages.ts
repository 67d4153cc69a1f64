import helmet from '@fastify/helmet';
import type { FastifyInstance } from 'fastify';

/**
 * Helmet's headers on the pages of a scope, with a policy that allows only what `sources` names: directives in
 * camel case with their sources. JSON responses of the service have other headers.
 */
export async function securePages(
  scope: FastifyInstance,
  sources: Readonly<Record<string, readonly string[]>>,
): Promise<void> {
  const nothing = ["'none'"];
  await scope.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        ...{ defaultSrc: nothing, baseUri: nothing, formAction: nothing, frameAncestors: nothing },
        ...sources,
      },
    },
    xFrameOptions: { action: 'deny' },
    // The operator's other names under the domain are not ours to bind.
    strictTransportSecurity: { maxAge: 31_536_000, includeSubDomains: false },
  });
}
