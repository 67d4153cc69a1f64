import { closePages, type WatchedPage, watchedPage } from './browser.js';
import { type TestDashboard, testDashboard } from './test-dashboard.js';

type Rest<T extends unknown[]> = T extends [unknown, ...infer Others] ? Others : never;

/** A dashboard that listens, and a browser for it. */
export interface BrowsedDashboard extends TestDashboard {
  readonly origin: string;
  /** A page of a new reader. @see watchedPage */
  readonly watch: (...look: Rest<Parameters<typeof watchedPage>>) => Promise<WatchedPage>;
}

export async function browsedDashboard(changes?: Parameters<typeof testDashboard>[0]): Promise<BrowsedDashboard> {
  const it = await testDashboard(changes);
  // By name, as a reader has it: `Secure` cookies are taken there.
  const origin = (await it.app.listen({ port: 0, host: '127.0.0.1' })).replace('127.0.0.1', 'localhost');
  return {
    ...it,
    origin,
    watch: (...look) => watchedPage(origin, ...look),
    async close() {
      await closePages();
      await it.close();
    },
  };
}
