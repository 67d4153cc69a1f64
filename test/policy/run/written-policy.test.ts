import { expect, it } from 'vitest';
import { createGuard, type GuardOptions } from '../../../src/policy/index.js';
import { checkAccountPolicy } from '../../../src/policy/run/written-policy.js';

const accepts = [{ from: 'get_contacts', argument: 'to[*]', kind: 'email' }];
const POLICY = {
  on: { flow: { suspicious: 'deny', foreign: 'deny', suspicionAt: 0.4, trusted: ['get_profile', 'example.com'] } },
  tools: { send_mail: { effect: 'send', to: ['to', 'cc'], accepts }, 'Notion: create [page] (beta)?': {} },
};

it.each<[object]>([[POLICY], [{}], [{ on: {} }], [{ on: { flow: {} }, tools: {} }]])('takes %j', (policy) => {
  expect(() => checkAccountPolicy(policy)).not.toThrow();
});

const tools = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`t${at}`, {}]));
const parsed = (json: string): unknown => JSON.parse(json);

/** What createGuard refuses too, in the same words. */
it.each([
  [{ tools: { send: { effect: 'fly' } } }, 'fly is not an effect of a tool; choose one of read, write, send, execute'],
  [{ tools: { send: { efect: 'send' } } }, 'each of tools has no option efect (did you mean effect?)'],
  [{ tools: { send: null } }, 'each of tools is an object'],
  [{ tools: [] }, 'tools is an object of tools by name'],
  [{ tools: { send: { to: 'to' } } }, 'to of a tool is a list of arguments'],
  [{ tools: { send: { to: [['to']] } } }, 'to of a tool is a list of arguments'],
  [{ tools: { send: { accepts: [{ from: 'x' }] } } }, 'accepts of a tool is a list of'],
  [{ tools: { send: { accepts: [{ ...accepts[0], argument: '[?]' }] } } }, 'accepts of a tool permits nothing by'],
  [{ on: { flow: { foreign: 'allow' } } }, 'allow is not an action for flow.foreign'],
  [{ on: { flow: { suspicionAt: null } } }, 'flow.suspicionAt must be a number from 0 to 1'],
  [{ on: { flow: { suspicionAt: '0.5' } } }, 'flow.suspicionAt must be a number from 0 to 1'],
  [{ on: { flow: { trusted: [7] } } }, 'flow.trusted is a list of tools and domains'],
  [{ on: { flow: { truste: [] } } }, 'flow has no truste'],
  [parsed('{ "on": { "flow": { "__proto__": {} } } }'), 'flow has no __proto__'],
])('refuses %j, as createGuard does', (policy, words) => {
  expect(() => checkAccountPolicy(policy)).toThrow(words);
  expect(() => createGuard(policy as GuardOptions)).toThrow(words);
});

it.each([
  [null, 'it is not a JSON object'],
  [[], 'it is not a JSON object'],
  ['{}', 'it is not a JSON object'],
  [{ tool: {} }, 'the policy of an account has no option tool (did you mean tools?)'],
  [{ on: { user: 'report' } }, 'on of an account has no option user: there are flow'],
  [{ on: [] }, 'on is an object'],
  [{ on: { flow: null } }, 'flow is an object'],
  [parsed('{ "__proto__": {} }'), 'the policy of an account has no option __proto__'],
  [parsed('{ "tools": { "__proto__": {} } }'), 'tools has the name "__proto__"'],
  [parsed('{ "tools": { "send": { "__proto__": { "effect": "read" } } } }'), 'each of tools has no option __proto__'],
  [{ tools: { '': {} } }, 'tools has the name ""'],
  [{ tools: { 'send_*': {} } }, 'tools has a name with one of'],
  [{ tools: { '^send|mail$': {} } }, 'tools has a name with one of'],
  [{ on: { flow: { trusted: ['*.example.com'] } } }, 'flow.trusted has a name with one of'],
  [{ tools: { send: { accepts: [{ ...accepts[0], from: '.*' }] } } }, 'accepts of a tool has a name with one of'],
  [{ tools: { ['x'.repeat(201)]: {} } }, 'tools has a name of 201 characters; a name may have 200'],
  [{ tools: { send: { to: Array(501).fill('a') } } }, 'to of a tool has 501 entries, and may have 500'],
  [{ tools: tools(10_000) }, 'characters as JSON, and may have 32768'],
])('refuses as the policy of an account: %j', (policy, words) => {
  expect(() => checkAccountPolicy(policy)).toThrow(words);
});
