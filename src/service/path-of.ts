/** The path of a request's target, which may be a whole URL (RFC 9112, 3.2.2), without its query. */
export function pathOf(target: string): string {
  const start = /^https?:\/\/[^/?#]*/i.exec(target)?.[0].length ?? 0;
  const end = target.slice(start).search(/[?#]/);
  return (end === -1 ? target.slice(start) : target.slice(start, start + end)) || '/';
}
