import { z } from 'zod';
import type { HookOutput } from '../../integrations/claude-agent/answer-hook.js';
import type { LiteLlmAnswer, LiteLlmCall } from '../../integrations/litellm/answer-litellm.js';
import { type PinEvent, TOOL_FAULTS } from '../../integrations/mcp/pin-event.js';
import { TOOL_NAME } from '../../policy/run/tool-name.js';

/** The query of `POST /hooks/claude-code`. */
export interface HookQuery {
  readonly user?: 'refuse' | 'report' | undefined;
  readonly tool_call?: 'deny' | 'ask' | 'report' | undefined;
  readonly tool_result?: 'replace' | 'redact' | 'stop' | 'report' | undefined;
  readonly suspicious?: 'deny' | 'ask' | 'report' | undefined;
  readonly foreign?: 'report' | 'ask' | 'deny' | undefined;
}

export const hookBodySchema: z.ZodType<{ readonly hook_event_name: string }> = z
  .looseObject({ hook_event_name: z.string() })
  .meta({
    id: 'ClaudeCodeEvent',
    description: 'An event as Claude Code sends it to an HTTP hook.',
    examples: [{ hook_event_name: 'UserPromptSubmit', session_id: 'c0ffee', prompt: 'Summarise this page.' }],
  });

export const hookQuerySchema: z.ZodType<HookQuery> = z.object({
  user: z.enum(['refuse', 'report']).optional().describe('What happens to a blocked prompt. Default: `refuse`.'),
  tool_call: z
    .enum(['deny', 'ask', 'report'])
    .optional()
    .describe('What happens to blocked arguments of a tool. Default: `deny`.'),
  tool_result: z
    .enum(['replace', 'redact', 'stop', 'report'])
    .optional()
    .describe('What happens to a blocked result. Default: `replace`.'),
  suspicious: z
    .enum(['deny', 'ask', 'report'])
    .optional()
    .describe('What happens to a call with a value of a suspicious result. Default: `deny`.'),
  foreign: z
    .enum(['report', 'ask', 'deny'])
    .optional()
    .describe('What happens to a call that sends to an address of any other result. Default: `report`.'),
});

export const hookAnswerSchema: z.ZodType<HookOutput> = z
  .looseObject({
    continue: z.boolean().optional(),
    stopReason: z.string().optional(),
    decision: z.literal('block').optional(),
    reason: z.string().optional(),
    hookSpecificOutput: z.unknown().optional(),
  })
  .meta({ id: 'ClaudeCodeAnswer', description: 'What Claude Code does next; `{}` lets the event pass.' }) as never;

export const liteLlmAnswerSchema: z.ZodType<LiteLlmAnswer> = z
  .looseObject({ action: z.enum(['NONE', 'BLOCKED']), blocked_reason: z.string().optional() })
  .meta({ id: 'LiteLlmAnswer' }) as never;

export const liteLlmCallSchema: z.ZodType<LiteLlmCall> = z
  .looseObject({
    input_type: z.enum(['request', 'response']),
    texts: z.array(z.string()).nullish(),
    structured_messages: z.array(z.looseObject({ role: z.string(), content: z.unknown().optional() })).nullish(),
    tools: z.array(z.unknown()).nullish(),
    tool_calls: z.array(z.unknown()).nullish(),
    litellm_trace_id: z.string().nullish(),
    litellm_call_id: z.string().nullish(),
  })
  .meta({
    id: 'LiteLlmCall',
    description: 'What the guardrail `generic_guardrail_api` of a LiteLLM proxy sends.',
    examples: [{ input_type: 'request', texts: ['Hello'], structured_messages: [{ role: 'user', content: 'Hello' }] }],
  });

export const pinEventSchema: z.ZodType<PinEvent> = z
  .strictObject({
    server: z
      .string()
      // No control characters, in a form that readers of the OpenAPI document know.
      .regex(/^[ -~\u00a0-\uffff]{1,200}$/)
      .describe("The server's name among the gateway's pins."),
    tool: z.string().regex(TOOL_NAME).describe("The tool's name; its length where it is no plain name."),
    change: z.enum(TOOL_FAULTS).describe('Why the tool is not trusted.'),
    action: z.enum(['hide', 'deny', 'report']).describe('What the gateway did.'),
    runId: z.string().regex(/^[\w.:-]{1,100}$/),
  })
  .meta({
    id: 'PinEvent',
    description: 'A change of a tool definition, as `portcullis mcp-proxy --service` reports it.',
    examples: [
      { server: 'mail', tool: 'send', change: 'changed', action: 'hide', runId: 'run_6f1d0c2a9b7e4d53a8c1e0f2' },
    ],
  });

export const pinReceiptSchema: z.ZodType<{ readonly recorded: true }> = z
  .object({ recorded: z.literal(true) })
  .meta({ id: 'PinReceipt', description: 'The event is in the audit log.' });
