/** The policy of calls as a file or the service keeps it, and as it permits what an operator has confirmed. */
import { checkOptions } from '../../engine/options.js';
import type { Flow } from './flow.js';
import { checkFlowPolicy, DEFAULT_FLOW_POLICY, type FlowPolicy } from './flow-policy.js';
import { isOneArgument, isShortened } from './tool-name.js';
import { type AcceptedValue, checkTools, isObject, policyOf, type ToolPolicies } from './tool-policy.js';

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

/** Equal flows of some calls. */
export interface FlowGroup extends Pick<Flow, 'kind' | 'level'> {
  /** Tool that was called; null where it has no name. */
  readonly tool: string | null;
  /** Tool whose results the values stood in; null for a document, and where it has no name. */
  readonly source: string | null;
  /** Path of the argument, with `[*]` for every index. */
  readonly argument: string;
}

/** Whether a policy can permit it: both tools and the argument need names that are theirs alone. */
export function isAcceptable(flow: FlowGroup): flow is FlowGroup & { readonly tool: string; readonly source: string } {
  const { tool, source, argument } = flow;
  return tool !== null && source !== null && !isShortened(tool) && !isShortened(source) && isOneArgument(argument);
}

/** Adds the confirmed flows to a policy. Whatever else comes from data is denied, unless the policy says otherwise. */
export function confirmedPolicy(confirmed: readonly FlowGroup[], base: WrittenPolicy = {}): WrittenPolicy {
  const tools = new Map(Object.entries(base.tools ?? {}));
  for (const { tool, source, argument, kind, level } of confirmed.filter(isAcceptable)) {
    const known = tools.get(tool);
    const value: AcceptedValue = { from: source, argument, kind, ...(level === 'foreign' ? {} : { level }) };
    const others = known?.accepts?.filter((each) => !isValueOf(each, { source, argument, kind, level })) ?? [];
    tools.set(tool, { ...known, accepts: [...others, value] });
  }
  return {
    ...base,
    on: { ...base.on, flow: { suspicious: 'deny', foreign: 'deny', ...base.on?.flow } },
    tools: Object.fromEntries(tools),
  };
}

/** Whether a policy permits it. */
export function isConfirmed({ tools = {} }: WrittenPolicy, flow: FlowGroup): boolean {
  return flow.tool !== null && policyOf(tools, flow.tool).accepts?.some((each) => isValueOf(each, flow)) === true;
}

/** Takes one flow out of those that a policy permits. */
export function withdrawnPolicy(policy: WrittenPolicy, flow: FlowGroup): WrittenPolicy {
  const { tools = {} } = policy;
  if (flow.tool === null || !isConfirmed(policy, flow)) return policy;
  const { [flow.tool]: changed, ...others } = tools;
  const { accepts = [], ...declared } = changed ?? {};
  const left = accepts.filter((each) => !isValueOf(each, flow));
  if (left.length > 0) return { ...policy, tools: { ...tools, [flow.tool]: { ...declared, accepts: left } } };
  return { ...policy, tools: { ...others, ...(Object.keys(declared).length === 0 ? {} : { [flow.tool]: declared }) } };
}

function isValueOf(value: AcceptedValue, { source, argument, kind, level }: Omit<FlowGroup, 'tool'>): boolean {
  return (
    value.from === source && value.argument === argument && value.kind === kind && (value.level ?? 'foreign') === level
  );
}
