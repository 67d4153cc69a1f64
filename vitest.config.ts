import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Child processes of the model's tests need the second core.
    maxWorkers: 2,
    expect: { requireAssertions: true },
    coverage: { provider: 'v8', include: ['src/**'] },
  },
});
