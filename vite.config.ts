import { defineConfig } from 'vite';

/** The dashboard's page, into dist/dashboard. */
export default defineConfig({
  root: 'src/dashboard/web',
  base: '/dashboard/',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../../../dist/dashboard',
    emptyOutDir: true,
    // The policy forbids inline scripts and styles, and so does this.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  // As in tsdown.config.ts.
  resolve: { preserveSymlinks: true },
  logLevel: 'warn',
});
