import { expect, it } from 'vitest';
import { testDashboard } from '../../dashboard/test-dashboard.js';
import { testApp } from '../test-app.js';

it('API8: pages have helmet, a policy that lets in nothing foreign, and no CORS', async () => {
  const { app } = await testApp();
  const board = (await testDashboard()).app;
  const answers = [
    await app.inject('/docs'),
    await board.inject('/dashboard/'),
    await board.inject('/dashboard/api/session'),
  ];
  for (const { headers } of answers) {
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'strict-transport-security': 'max-age=31536000',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
    });
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|\*|http/);
  }
  expect(answers[1]?.headers).not.toHaveProperty('access-control-allow-origin');
});
