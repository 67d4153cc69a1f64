/** Channels that a caller may name, and that a rule may be limited to. */
export const CHANNELS = ['user', 'document', 'tool_result', 'tool_call', 'instructions'] as const;
export type KnownChannel = (typeof CHANNELS)[number];

/**
 * Whose words a text is. `instructions`: whoever sets the agent up, in system prompts, tool definitions, skill and rule files.
 * `unknown`: the caller didn't say; rules limited to `user` run.
 */
export type Channel = KnownChannel | 'unknown';
