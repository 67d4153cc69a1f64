import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BrowsedDashboard, browsedDashboard } from '../browsed-dashboard.js';
import { accessibilityFaults, fill, press } from '../browser.js';

let it: BrowsedDashboard;

beforeAll(async () => {
  it = await browsedDashboard();
});
afterAll(() => it.close());

test('a search that finds nothing at first goes on by itself, and can be stopped', { timeout: 60_000 }, async () => {
  const { page, faults } = await it.watch({ width: 'phone', theme: 'light' });
  await page.goto(`${it.origin}/dashboard/#/sign-up`);
  await fill(page, { Account: 'Search', 'E-mail': 'search@example.com', Password: 'a long password' });
  await press(page, 'Create an account');
  await page.getByText('No calls in this period.').waitFor();

  const asked: (string | null)[] = [];
  let last = false;
  await page.route('**/dashboard/api/evidence?*text=*', async (route) => {
    const cursor = new URL(route.request().url()).searchParams.get('cursor');
    asked.push(cursor);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const next = last ? null : String(asked.length);
    const searchedTo = last ? null : Date.UTC(2026, 10, 21) - asked.length * 3_600_000;
    await route.fulfill({ json: { records: [], next, searchedTo } });
  });
  await page.goto(`${it.origin}/dashboard/#/evidence?text=needle`);
  await page.getByText('Searching older records …').waitFor();
  await expect.poll(() => asked.length).toBeGreaterThan(3);
  expect(await accessibilityFaults(page)).toEqual([]);
  await press(page, 'Stop');
  await page.getByText('The search was stopped.').waitFor();
  await page.getByText(/Nothing found back to \w+/).waitFor();
  // One more may have been under way.
  await new Promise((resolve) => setTimeout(resolve, 500));
  const stopped = asked.length;
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(asked.length).toBe(stopped);
  expect(asked).toEqual([null, ...Array.from({ length: stopped - 1 }, (_, at) => String(at + 1))]);
  expect(await page.getByText('Page 1', { exact: true }).count()).toBe(1);

  last = true;
  await press(page, 'Continue');
  await page.getByText('No record matches these filters.').waitFor();
  expect(asked.at(-1)).toBe(String(stopped));
  expect(faults).toEqual([]);
  await page.context().close();
});
