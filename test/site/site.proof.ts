import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accessibilityFaults, closePages, expectNoSideways, watchedPage } from '../dashboard/browser.js';

const SITE = 'site/dist';
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.wasm': 'application/wasm',
};

let server: Server;
let origin: string;

beforeAll(async () => {
  server = createServer((request, response) => {
    const path = decodeURI(new URL(request.url ?? '/', 'http://localhost').pathname);
    const file = [path, `${path}.html`, join(path, 'index.html')]
      .map((name) => join(SITE, name))
      .find((name) => existsSync(name) && statSync(name).isFile());
    response.writeHead(file === undefined ? 404 : 200, {
      'content-type': TYPES[extname(file ?? '404.html')] ?? 'text/plain',
    });
    response.end(readFileSync(file ?? join(SITE, '404.html')));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(async () => {
  await closePages();
  server?.close();
});

const decoded = (text: string): string =>
  text.replaceAll('&amp;', '&').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"');

/** Every page with the ids that it has, and all links with the page that each stands on. */
function readSite(): { ids: Map<string, Set<string>>; links: (readonly [string, string])[] } {
  const ids = new Map<string, Set<string>>();
  const links: (readonly [string, string])[] = [];
  for (const name of readdirSync(SITE, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.html') || name.startsWith('playground/')) continue;
    const html = readFileSync(join(SITE, name), 'utf8');
    ids.set(`/${name}`, new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id = '']) => decoded(id))));
    for (const [, href = ''] of html.matchAll(/<a[^>]*\shref="([^"]+)"/g)) links.push([`/${name}`, decoded(href)]);
  }
  return { ids, links };
}

describe('links of the site', () => {
  it('lead to a page and an anchor that exist', () => {
    const { ids, links } = readSite();
    const dead = links.filter(([page, href]) => {
      if (/^[a-z]+:/.test(href)) return false;
      const { pathname, hash } = new URL(href, `http://site${page}`);
      const path = decodeURI(pathname.endsWith('/') ? `${pathname}index.html` : pathname);
      const anchors = ids.get(path);
      if (anchors === undefined) return !existsSync(join(SITE, path));
      return hash !== '' && !anchors.has(decodeURIComponent(hash.slice(1)));
    });
    expect(dead).toEqual([]);
    expect(ids.size).toBeGreaterThan(60);
    expect(links.length).toBeGreaterThan(1_000);
  });

  it('load nothing from elsewhere', () => {
    const assets = readdirSync(join(SITE, 'assets'), { recursive: true, encoding: 'utf8' });
    const css = assets
      .filter((name) => name.endsWith('.css'))
      .map((name) => readFileSync(join(SITE, 'assets', name), 'utf8'));
    expect(css.join('')).not.toMatch(/url\(["']?https?:|@import/);
    expect(css.length).toBeGreaterThan(0);
  });
});

/** A page of every kind. */
const kinds: Readonly<Record<string, string>> = {
  home: '/',
  guide: '/start.html',
  host: '/hosts/ai-sdk.html',
  matrix: '/hosts/',
  api: '/api/portcullis/policy.html',
  errors: '/errors.html',
  verdict: '/verdict.html',
  picture: '/opentelemetry.html',
  record: '/records/world.html',
  playground: '/playground.html',
  missing: '/no-such-page.html',
};
const looks = [
  { width: 'wide', theme: 'light' },
  { width: 'wide', theme: 'dark' },
  { width: 'phone', theme: 'light' },
  { width: 'phone', theme: 'dark' },
] as const;

describe.each(looks)('on a $width screen in the $theme', (look) => {
  it.each(Object.entries(kinds))('%s has no fault that axe finds', async (name, path) => {
    const { page, faults } = await watchedPage(origin, look, { reducedMotion: 'reduce' });
    await page.goto(origin + path, { waitUntil: 'load' });
    await page.locator('h1, .NotFound').first().waitFor();
    if (process.env['SCREENSHOTS']) {
      await page.screenshot({ path: join(process.env['SCREENSHOTS'], `${name}-${look.width}-${look.theme}.png`) });
    }
    await expectNoSideways(page);
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(name === 'missing' ? [] : faults).toEqual([]);
    await page.context().close();
  });
});

it('the playground shows its title once', async () => {
  const { page } = await watchedPage(origin, looks[0]);
  await page.goto(`${origin}${kinds.playground}`, { waitUntil: 'load' });
  const inner = page.frameLocator('iframe.playground');
  await inner.locator('form').waitFor();
  await expect.poll(() => inner.locator('h1').isVisible()).toBe(false);
  expect(await page.locator('h1').isVisible()).toBe(true);
  await page.context().close();
});

describe('search', () => {
  it('shows its first hit within a second of the first key, on a fresh visit', async () => {
    const times: number[] = [];
    for (const [query, hit] of Object.entries({
      LangChain: 'langchain',
      backup: 'backup',
      PACK021: 'problems of a pack',
      replay: 'replay',
      'trace id': 'traces',
    })) {
      const { page, faults } = await watchedPage(origin, looks[0]);
      await page.goto(`${origin}/start.html`, { waitUntil: 'load' });
      const field = page.locator('#localsearch-input');
      // The key does nothing until the page's script has run.
      const isOpen = async () => page.keyboard.press('/').then(() => field.isVisible());
      await expect.poll(isOpen, { timeout: 30_000 }).toBe(true);
      const started = performance.now();
      await field.fill(query);
      await page.locator('#localsearch-list .result').first().waitFor();
      times.push(Math.round(performance.now() - started));
      expect((await page.locator('#localsearch-list').textContent())?.toLowerCase()).toContain(hit);
      expect(faults).toEqual([]);
      await page.context().close();
    }
    console.log(`time to first search hit: ${times.join(', ')} ms`);
    expect(times.sort((a, b) => a - b)[2]).toBeLessThan(1_000);
  });
});
