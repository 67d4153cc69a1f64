/** Declarations of an operator about tools. */
import { checkOptions, type Known } from '../../engine/options.js';
import type { Flow } from './flow.js';
import type { ValueKind } from './run-state.js';
import { isOneArgument, isShortened } from './tool-name.js';

/** Effect of a tool beyond its response, from harmless to grave. */
export type Effect = 'read' | 'write' | 'send' | 'execute';

/** Values of one kind that an argument of a tool may carry although they come from data. */
export interface AcceptedValue {
  /** Tool whose results they stand in. */
  readonly from: string;
  /** Path of the argument, with `[*]` for every index: `to[*]`, `event.attendees[*].email`. */
  readonly argument: string;
  readonly kind: ValueKind;
  /** Default `foreign`: a value of a suspicious passage is not accepted. */
  readonly level?: Flow['level'] | undefined;
}

/** Behaviour of a tool, as declared by the host or operator. */
export interface ToolPolicy {
  readonly effect?: Effect | undefined;
  /** Arguments that say where a `send` goes; default: all. */
  readonly to?: readonly string[] | undefined;
  /** Values from data that calls may carry: what `portcullis flow report` writes of confirmed ones. Default: none. */
  readonly accepts?: readonly AcceptedValue[] | undefined;
}

/** Declarations about tools, by name. */
export type ToolPolicies = Readonly<Record<string, ToolPolicy>>;

export const EFFECTS: readonly Effect[] = ['read', 'write', 'send', 'execute'];

/** Declarations about a tool; an empty one where there is none. */
export function policyOf(tools: ToolPolicies, tool = ''): ToolPolicy {
  return Object.hasOwn(tools, tool) ? (tools[tool] ?? {}) : {};
}

const TOOL_POLICY: Known<ToolPolicy> = { effect: true, to: true, accepts: true };

/** @throws TypeError for a declaration that does not exist, an effect that is none, and what `to` and `accepts` can't hold */
export function checkTools(tools: ToolPolicies): void {
  if (!isObject(tools)) throw new TypeError('tools is an object of tools by name');
  for (const [tool, policy] of Object.entries(tools)) {
    if (!isObject(policy)) throw new TypeError('each of tools is an object: { effect?, to?, accepts? }');
    checkOptions('each of tools', policy, TOOL_POLICY);
    const { effect, to, accepts } = policy;
    if (effect !== undefined && !EFFECTS.includes(effect))
      throw new TypeError(`${String(effect)} is not an effect of a tool; choose one of ${EFFECTS.join(', ')}`);
    if (to !== undefined && !(Array.isArray(to) && to.every((name) => typeof name === 'string')))
      throw new TypeError('to of a tool is a list of arguments');
    if (accepts !== undefined) checkAccepted(tool, accepts);
  }
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const ACCEPTED = ['from', 'argument', 'kind', 'level'];

function checkAccepted(tool: string, accepts: unknown): void {
  const isValue = (value: unknown): value is AcceptedValue => {
    if (typeof value !== 'object' || value === null) return false;
    const { from, argument, kind, level = 'foreign' } = value as Partial<AcceptedValue>;
    const isKnown = Object.keys(value).every((name) => ACCEPTED.includes(name));
    const isComplete = [from, argument, kind].every((member) => typeof member === 'string');
    return isKnown && isComplete && (level === 'foreign' || level === 'suspicious');
  };
  if (!Array.isArray(accepts) || !accepts.every(isValue))
    throw new TypeError(
      "accepts of a tool is a list of { from, argument, kind, level? }, level 'foreign' or 'suspicious'",
    );
  if (isShortened(tool) || accepts.some(({ from, argument }) => isShortened(from) || !isOneArgument(argument)))
    throw new TypeError(
      'accepts of a tool permits nothing by "(a name of … characters)" or "[?]": they stand for many tools and arguments',
    );
}
