import type { ServerResponse } from 'node:http';

/** Calls `leave` when a response has been sent or its client is gone; at once where that happened before, such as during a look-up. */
export function whenClosed(response: ServerResponse, leave: () => void): void {
  if (response.destroyed) leave();
  else response.once('close', leave);
}
