import { readFileSync } from 'node:fs';
import { configDefaults, defineConfig } from 'vitest/config';
import newest from '../../vitest.config.js';

// The tests of the integrations again, on the oldest versions that are supported. `npm test` runs them; by hand:
// npx vitest run --config test/hosts/oldest.config.ts
const { dependencies } = JSON.parse(readFileSync(`${import.meta.dirname}/oldest/package.json`, 'utf8')) as {
  readonly dependencies: Readonly<Record<string, string>>;
};
const hosts = Object.keys(dependencies).filter((name) => name !== 'zod');

export default defineConfig({
  ...newest,
  plugins: [
    {
      name: 'oldest-hosts',
      enforce: 'pre',
      resolveId(source, importer) {
        if (importer?.includes('/node_modules/')) return undefined;
        const isHost = hosts.some((name) => source === name || source.startsWith(`${name}/`));
        return isHost
          ? this.resolve(source, `${import.meta.dirname}/oldest/package.json`, { skipSelf: true })
          : undefined;
      },
    },
  ],
  test: {
    ...newest.test,
    include: ['test/hosts/adapters/*.test.ts'],
    exclude: configDefaults.exclude,
    globalSetup: ['test/own-temp-folder.ts'],
    env: { PORTCULLIS_HOSTS: 'oldest' },
  },
});
