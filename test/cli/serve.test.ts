import { expect, it, vi } from 'vitest';
import { serveCommand } from '../../src/cli/serve.js';
import type { RunningService } from '../../src/service/run-service.js';

const service: RunningService = {
  url: 'http://127.0.0.1:1',
  firstAccount: { email: 'owner@localhost', password: 'made', key: 'made' },
  firstAccountShown: () => Promise.reject(new Error('the process that made it has ended')),
  close: async () => undefined,
};
const serve = vi.hoisted(() => vi.fn());
vi.mock('../../src/service/serve.js', () => ({ serve }));
serve.mockResolvedValue(service);

it('goes on serving where it could not be noted that the first account was shown', async () => {
  const written = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  await serveCommand().parseAsync(['--data', 'unused', '--mode', 'rules'], { from: 'user' });
  expect(written.mock.calls.join('')).toContain('ready http://127.0.0.1:1');
  expect(serve).toHaveBeenCalledWith(expect.objectContaining({ mode: 'rules' }));
});
