import { expect, it } from 'vitest';
import { describeRule } from '../../src/engine/engine.js';

it.each([
  ['T', 'Detects a request to drop rules.', 'The text contains a request to drop rules.'],
  ['T', 'Detects a request\nto drop rules. It also does more.', 'The text contains a request to drop rules.'],
  ['T', 'Detects a fake role', 'The text contains a fake role.'],
  ['Fake role', 'Looks for roles.', 'A rule fired: Fake role.'],
  ['T', 'Detects a call to evil.example now.', 'The text contains a call to evil.example now.'],
])('%s, %s', (title, description, reason) => {
  expect(describeRule({ title, description })).toBe(reason);
});
