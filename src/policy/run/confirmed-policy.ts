/** Writes the policy that permits what an operator has confirmed. */

import type { Flow } from './flow.js';
import { isOneArgument, isShortened } from './tool-name.js';
import { type AcceptedValue, policyOf } from './tool-policy.js';
import type { WrittenPolicy } from './written-policy.js';

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
