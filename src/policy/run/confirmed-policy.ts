/** Writes the policy that permits what an operator has confirmed. */
import type { AcceptedValue, ToolPolicy } from './effects.js';
import type { Flow } from './flow.js';
import { type FlowPolicy, isOneArgument } from './flow-policy.js';
import { isShortened } from './tool-name.js';

/** Equal flows of some calls. */
export interface FlowGroup extends Pick<Flow, 'kind' | 'level'> {
  /** Tool that was called; null where it has no name. */
  readonly tool: string | null;
  /** Tool whose results the values stood in; null for a document, and where it has no name. */
  readonly source: string | null;
  /** Path of the argument, with `[*]` for every index. */
  readonly argument: string;
}

/** Options of `createGuard` that say what calls may carry. */
export interface WrittenPolicy {
  readonly on?: { readonly flow?: Partial<FlowPolicy> | undefined } | undefined;
  readonly tools?: Readonly<Record<string, ToolPolicy>> | undefined;
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
    const others = known?.accepts?.filter((each) => !isSame(each, value)) ?? [];
    tools.set(tool, { ...known, accepts: [...others, value] });
  }
  return {
    ...base,
    on: { ...base.on, flow: { suspicious: 'deny', foreign: 'deny', ...base.on?.flow } },
    tools: Object.fromEntries(tools),
  };
}

function isSame(a: AcceptedValue, b: AcceptedValue): boolean {
  return a.from === b.from && a.argument === b.argument && a.kind === b.kind && a.level === b.level;
}
