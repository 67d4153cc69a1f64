import type { FastifyInstance } from 'fastify';

interface KnownRoute {
  readonly pattern: RegExp;
  readonly methods: readonly string[];
}

/** Which methods a path answers; empty for a path that nobody serves. `OPTIONS` is always among the others. */
export type AllowedMethods = (path: string) => readonly string[];

/** Watches the routes that are registered after it. */
export function watchMethods(app: FastifyInstance): AllowedMethods {
  const routes: KnownRoute[] = [];
  app.addHook('onRoute', ({ url, method }) => {
    // Files: a path below it is nothing until the file is there.
    if (url.includes('*')) return;
    const source = url.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replace(/:[^/]+/g, '[^/]+');
    routes.push({ pattern: new RegExp(`^${source}$`), methods: [method].flat() });
  });
  return (path) => {
    const methods = new Set(routes.filter(({ pattern }) => pattern.test(path)).flatMap((route) => route.methods));
    return methods.size === 0 ? [] : [...methods.add('OPTIONS')].sort();
  };
}

/** The path of a request's target, which may be a whole URL (RFC 9112, 3.2.2), without its query. */
export function dropQuery(target: string): string {
  const start = /^https?:\/\/[^/?#]*/i.exec(target)?.[0].length ?? 0;
  const end = target.slice(start).search(/[?#]/);
  return (end === -1 ? target.slice(start) : target.slice(start, start + end)) || '/';
}
