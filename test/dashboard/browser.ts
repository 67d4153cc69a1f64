import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Debian's; the test command installs the first, which draws no window, where it is missing. */
const browsers = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];
/** One for all test files of this process, and it ends with it: starting it takes as long as a test. */
let browser: Promise<Browser> | undefined;

function openBrowser(): Promise<Browser> {
  browser ??= chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? browsers.find((path) => existsSync(path)) ?? 'chromium',
    args: [
      ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
      ...['--disable-component-update', '--disable-sync'],
    ],
  });
  return browser;
}

/** A page of a new reader. */
export async function newPage(reader: BrowserContextOptions): Promise<Page> {
  return (await (await openBrowser()).newContext(reader)).newPage();
}

/** For the end of a test file. */
export async function closePages(): Promise<void> {
  for (const context of (await browser)?.contexts() ?? []) await context.close();
}

export const widths = { wide: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } } as const;

/** A page whose errors, refused loads and requests to elsewhere are collected. */
export interface WatchedPage {
  readonly page: Page;
  readonly faults: string[];
}

export async function watchedPage(
  origin: string,
  look: { readonly width: keyof typeof widths; readonly theme: 'light' | 'dark' },
  reader: Pick<BrowserContextOptions, 'timezoneId' | 'locale' | 'reducedMotion'> = {},
): Promise<WatchedPage> {
  const page = await newPage({
    viewport: widths[look.width],
    colorScheme: look.theme,
    ...reader,
    bypassCSP: false,
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
  page.on('dialog', (dialog) => {
    faults.push('a dialog opened');
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    if (message.type() === 'error' && !/status of 40[129]/.test(message.text())) faults.push(message.text());
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(origin) && !request.url().startsWith('data:')) faults.push(`left: ${request.url()}`);
  });
  return { page, faults };
}

/** axe-core's rules that a theme can break. */
export const CONTRAST = ['color-contrast', 'link-in-text-block'];

/** axe-core's violations as sentences, of all its rules or of those given; run out of the page's own policy, in the debugger's reach. */
export async function accessibilityFaults(page: Page, rules?: readonly string[]): Promise<readonly string[]> {
  // A way within the page keeps it.
  if (!(await page.evaluate(`'axe' in globalThis`))) await page.evaluate(axe);
  return page.evaluate(async (runOnly) => {
    const { axe: runner } = globalThis as unknown as {
      axe: {
        run: (
          options: object,
        ) => Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }>;
      };
    };
    // What passes is only counted.
    const { violations } = await runner.run({ resultTypes: ['violations'], ...(runOnly && { runOnly }) });
    return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`);
  }, rules);
}

/** Fails when the page is wider than the window. */
export async function expectNoSideways(page: Page): Promise<void> {
  const [content, window] = (await page.evaluate('[document.documentElement.scrollWidth, innerWidth]')) as [
    number,
    number,
  ];
  expect(content).toBeLessThanOrEqual(window);
}

/** Fills fields by their labels. */
export async function fill(page: Page, fields: Readonly<Record<string, string>>): Promise<void> {
  for (const [label, value] of Object.entries(fields)) await page.getByLabel(label, { exact: true }).fill(value);
}

/** Presses a button. */
export function press(page: Page, name: string | RegExp): Promise<void> {
  return page.getByRole('button', { name }).click();
}

/** Goes on by Tab until the focus is on what has this text or label; a trap or a miss fails. */
export async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 100; presses += 1) {
    await page.keyboard.press('Tab');
    const focused = await page.evaluate(
      // Past the last control the focus is on the whole page, whose text is everything.
      `document.activeElement === document.body ? '' : [document.activeElement?.innerText, document.activeElement?.labels?.[0]?.innerText, document.activeElement?.getAttribute('aria-label')].filter(Boolean).join(' ')`,
    );
    if (String(focused).includes(name)) return;
  }
  throw new Error(`the keyboard doesn't reach ${name}`);
}

/** Goes to a link or button by Tab and presses Enter. */
export async function enter(page: Page, name: string): Promise<void> {
  await tabTo(page, name);
  await page.keyboard.press('Enter');
}

/** Goes to a field by Tab and writes into it. */
export async function typeInto(page: Page, label: string, text: string): Promise<void> {
  await tabTo(page, label);
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.type(text);
}

/** Opens the dashboard and signs in, with the keyboard alone. */
export async function signInByKeys(page: Page, origin: string, email: string, password: string): Promise<void> {
  await page.goto(`${origin}/dashboard/`);
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await typeInto(page, 'E-mail', email);
  await typeInto(page, 'Password', password);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
}
