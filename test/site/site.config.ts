import { defineConfig } from 'vitest/config';

/** The built site in a browser: `npm run proof -- site`. */
export default defineConfig({
  test: {
    include: ['test/site/site.proof.ts'],
    testTimeout: 120_000,
    hookTimeout: 60_000,
    expect: { requireAssertions: true },
  },
});
