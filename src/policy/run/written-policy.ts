/** The policy of calls as a file or the service keeps it. */
import { checkOptions } from '../../engine/options.js';
import { checkFlowPolicy, DEFAULT_FLOW_POLICY, type FlowPolicy } from './flow-policy.js';
import { checkTools, isObject, type ToolPolicies } from './tool-policy.js';

/** Options of `createGuard` that say what calls may carry. */
export interface WrittenPolicy {
  readonly on?: { readonly flow?: Partial<FlowPolicy> | undefined } | undefined;
  readonly tools?: ToolPolicies | undefined;
}

/** UTF-16 code units of an account's policy as JSON: it is read with each key, and a record holds what decided. */
const LONGEST_POLICY = 32_768;
/** Entries of each list: a call's values are compared with all of them. */
const MOST_LISTED = 500;
const LONGEST_NAME = 200;

/**
 * Checks the policy of an account: these options of `createGuard` alone, within bounds. Names are compared as they are, so one that looks
 * like a pattern is refused.
 *
 * @throws TypeError, RangeError that says what is wrong
 */
export function checkAccountPolicy(policy: unknown): asserts policy is WrittenPolicy {
  if (!isObject(policy)) throw new TypeError('it is not a JSON object with `on` and `tools`');
  checkOptions('the policy of an account', policy as WrittenPolicy, { on: true, tools: true });
  const { on = {}, tools = {} } = policy as WrittenPolicy;
  if (!isObject(on)) throw new TypeError('on is an object: { flow }');
  checkOptions('on of an account', on, { flow: true });
  const { flow = {} } = on;
  if (!isObject(flow)) throw new TypeError('flow is an object');
  checkFlowPolicy({ ...DEFAULT_FLOW_POLICY, ...flow });
  checkTools(tools);
  const { length } = JSON.stringify(policy);
  if (length > LONGEST_POLICY)
    throw new RangeError(`it has ${length} characters as JSON, and may have ${LONGEST_POLICY}`);
  checkList('flow.trusted', flow.trusted);
  for (const [tool, { to, accepts }] of Object.entries(tools)) {
    checkName('tools', tool);
    checkList('to of a tool', to);
    checkList(
      'accepts of a tool',
      accepts?.map(({ from }) => from),
    );
  }
}

function checkList(where: string, names: readonly string[] = []): void {
  if (names.length > MOST_LISTED)
    throw new RangeError(`${where} has ${names.length} entries, and may have ${MOST_LISTED}`);
  for (const name of names) checkName(where, name);
}

function checkName(where: string, name: string): void {
  if (name === '' || name === '__proto__')
    throw new TypeError(`${where} has the name "${name}", which no tool can have`);
  if (name.length > LONGEST_NAME)
    throw new RangeError(`${where} has a name of ${name.length} characters; a name may have ${LONGEST_NAME}`);
  if (/[*^$|\\]/.test(name))
    throw new TypeError(`${where} has a name with one of * ^ $ | \\: there are no patterns, each name is written out`);
}
