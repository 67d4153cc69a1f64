import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { afterAll, describe, expect, it } from 'vitest';
import { type GuardMiddleware, guardModel } from '../../../src/integrations/ai-sdk/index.js';
import { guardMiddleware } from '../../../src/integrations/anthropic/index.js';
import { answerHook } from '../../../src/integrations/claude-agent/answer-hook.js';
import { guardMiddleware as guardLangChain } from '../../../src/integrations/langchain/index.js';
import { answerLiteLlm } from '../../../src/integrations/litellm/answer-litellm.js';
import { guardProcessor } from '../../../src/integrations/mastra/index.js';
import { createGateway } from '../../../src/integrations/mcp/gateway.js';
import { readMessage } from '../../../src/integrations/mcp/messages.js';
import { guardFetch } from '../../../src/integrations/openai/index.js';
import { guardAgents } from '../../../src/integrations/openai-agents/index.js';
import { createGuard, PortcullisBlocked } from '../../../src/policy/index.js';
import { ATTACK, BENIGN, counting } from './matrix.js';
import { type Shape, shapesOf } from './shapes.js';

// Whatever a host's own types allow where content stands: the text of each string is screened, and an honest one arrives equal.

const guard = createGuard({ engine: counting() });

/** What of a value comes through an integration; undefined for a call that is refused. */
type Send = (value: unknown) => Promise<unknown>;

interface Row {
  readonly integration: string;
  readonly type: string;
  readonly send: Send;
  /** Strings that say nothing to the model, or are the words of the operator or the model itself. */
  readonly own?: RegExp;
  /** What of the value arrives where nothing is blocked; default: the value. */
  readonly honest?: (value: unknown) => unknown;
}

const hello = { role: 'user', content: 'Hello' };

/** The body that a client would send. */
const sentBy = async (wrap: (inner: typeof fetch) => typeof fetch, path: string, body: object): Promise<never> => {
  let sent: unknown;
  const provider: typeof fetch = async (_, init) => {
    sent = JSON.parse(String(init?.body));
    return Response.json({});
  };
  await wrap(provider)(`http://provider.test/v1/${path}`, { method: 'POST', body: JSON.stringify(body) });
  return sent as never;
};
const openai = (path: string, body: object): Promise<Record<string, never[]> | undefined> =>
  sentBy((inner) => guardFetch(guard, inner), path, body);
const anthropic = async (body: object): Promise<Record<string, never[]> | undefined> => {
  let sent: unknown;
  await guardMiddleware(guard)({ url: 'http://provider.test/v1/messages', body }, async (request) => {
    sent = request.body;
    return Response.json({});
  });
  return sent as never;
};
const agents = guardAgents(guard);

const isAnswered = (answer: object): boolean => 'providerMetadata' in answer;
/** The parameters that a model of the AI SDK is called with; undefined where it isn't called. */
const aiSdk = async <P extends Parameters<GuardMiddleware<'v4'>['transformParams']>[0]['params']>(
  given: P,
): Promise<P | undefined> => {
  const middleware = guardModel(guard);
  const params = await middleware.transformParams({ params: given });
  const answer = await middleware.wrapGenerate({ doGenerate: async () => ({}), params });
  return isAnswered(answer) ? undefined : params;
};
const generated = async (part: unknown): Promise<unknown> => {
  const doGenerate = async () => ({ content: [part] });
  return (await guardModel(guard).wrapGenerate({ doGenerate, params: { prompt: [] } })).content[0];
};

const chain = guardLangChain(guard, {
  createMiddleware: (config: unknown) => config,
  AIMessage,
  ToolMessage,
} as never) as unknown as {
  wrapModelCall(request: object, handler: (request: ChainRequest) => unknown): Promise<unknown>;
  wrapToolCall(request: object, handler: () => unknown): Promise<BaseMessage>;
};
interface ChainRequest {
  readonly messages: readonly BaseMessage[];
  readonly tools?: readonly unknown[];
}
/** The request that reaches a model of LangChain; undefined for a run that is refused. */
const langchain = async (request: ChainRequest): Promise<ChainRequest | undefined> => {
  let shown: ChainRequest | undefined;
  await chain.wrapModelCall(request, (given) => {
    shown = given;
  });
  return shown;
};
const inMessage = async (message: BaseMessage): Promise<unknown> => {
  const content = (await langchain({ messages: [message] }))?.messages[0]?.content;
  return Array.isArray(content) ? content[0] : content;
};

const mastra = guardProcessor(guard);
const abort = (): never => {
  throw new Refused();
};
class Refused extends Error {}
const step = async (tool: unknown): Promise<unknown> => {
  const shown = await mastra.processInputStep({ abort, tools: { tool } });
  return shown === undefined ? tool : shown.tools.tool;
};

const withoutGuardrails = (tool: object): object => {
  const { inputGuardrails: _, outputGuardrails: __, ...others } = tool as Readonly<Record<string, unknown>>;
  return others;
};

const mcp = createGateway({ guard, report: () => {} });
/** A row for the results of a method, or for the params of messages of the server. */
const mcpRow = (method: string, type: string): Row => ({
  integration: `mcp, ${method}`,
  type: `import('@modelcontextprotocol/sdk/types.js').${type}`,
  send: async (result) => {
    const connection = mcp.connect();
    await connection.screenClient(readMessage({ jsonrpc: '2.0', id: 1, method, params: {} }));
    const { forward } = await connection.screenServer(readMessage({ jsonrpc: '2.0', id: 1, result }));
    return forward?.result;
  },
  // It goes back to the server, and no model sees it.
  own: /\.nextCursor$/,
});
const mcpMessageRow = (name: string, more: object): Row => ({
  ...mcpRow(name, name),
  send: async (value) => {
    const message = { jsonrpc: '2.0', ...more, ...(value as object) };
    const { forward } = await mcp.connect().screenServer(readMessage(message));
    const shown = forward && Object.entries(forward).filter(([name]) => name === 'method' || name === 'params');
    return shown && Object.fromEntries(shown);
  },
});
const MCP_ROWS: readonly Row[] = [
  mcpRow('tools/call', 'CallToolResult'),
  mcpRow('tools/list', 'ListToolsResult'),
  mcpRow('prompts/get', 'GetPromptResult'),
  mcpRow('prompts/list', 'ListPromptsResult'),
  mcpRow('resources/read', 'ReadResourceResult'),
  mcpRow('resources/list', 'ListResourcesResult'),
  mcpRow('resources/templates/list', 'ListResourceTemplatesResult'),
  mcpRow('completion/complete', 'CompleteResult'),
  mcpRow('tasks/get', 'GetTaskResult'),
  mcpRow('initialize', 'InitializeResult'),
  mcpMessageRow('ServerRequest', { id: 1 }),
  mcpMessageRow('ServerNotification', {}),
];

const SECRETS = String.raw`\.(headers|authorization)\b`;
const MODEL_ITEM =
  'reasoning|compaction|compaction_trigger|item_reference|configuration_update|function_call|custom_tool_call|computer_call|' +
  'local_shell_call|shell_call|apply_patch_call|web_search_call|image_generation_call|tool_search_call|mcp_approval_request|program';
const MODEL_WORDS = String.raw`^\w+\((${MODEL_ITEM})\)|^\w+\((assistant|system|developer)\b(?!.*\.tools\[\])|\)\.(arguments|code|queries)\b`;
const MODEL_BLOCK = 'text|thinking|redacted_thinking|tool_use|server_tool_use|mcp_tool_use|compaction|fallback';

// The oldest hosts have several versions of this package; the one of `ai` is not at the root.
const PROVIDER = `${process.env.PORTCULLIS_HOSTS === 'oldest' ? './node_modules/ai/node_modules/' : ''}@ai-sdk/provider`;
const LANGUAGE_MODEL = `import('${PROVIDER}').LanguageModelV`;
const AI_SDK_OWN =
  /^\w+\(system\)|^\w+\(assistant\)\.content\[\]\((text|reasoning|tool-call)\)|\.providerOptions\b|\(tool-result\)\.tool(CallId|Name)$/;
const BLOCKS = "import('@langchain/core/messages').ContentBlock";
const CHAIN_BLOCKS = `${BLOCKS} | ${BLOCKS}.Standard | ${BLOCKS}.Data.DataContentBlock`;

const FUNCTION = "import('@langchain/core/language_models/base').FunctionDefinition";

const ROWS: readonly Row[] = [
  ...['3', '4'].map(
    (version): Row => ({
      integration: `ai-sdk, messages of version ${version}`,
      type: `${LANGUAGE_MODEL}${version}Message`,
      send: async (value) => (await aiSdk({ prompt: [value] }))?.prompt[0],
      own: AI_SDK_OWN,
    }),
  ),
  {
    integration: 'ai-sdk, tools',
    type: `${LANGUAGE_MODEL}4FunctionTool | ${LANGUAGE_MODEL}4ProviderTool`,
    send: async (value) => (await aiSdk({ prompt: [hello], tools: [value] }))?.tools?.[0],
  },
  {
    integration: 'ai-sdk, results of the provider',
    type: `${LANGUAGE_MODEL}4ToolResult`,
    send: generated,
    own: /\.(toolCallId|toolName|providerMetadata\b.*)$/,
  },
  {
    integration: 'langchain, blocks of users',
    type: CHAIN_BLOCKS,
    send: (value) => inMessage(new HumanMessage({ content: [value as never] })),
  },
  {
    integration: 'langchain, blocks of results',
    type: CHAIN_BLOCKS,
    send: (value) => inMessage(new ToolMessage({ content: [value as never], tool_call_id: 'c' })),
  },
  {
    integration: 'langchain, results of tools',
    type: CHAIN_BLOCKS,
    send: async (value) => {
      const result = new ToolMessage({ content: [value as never], tool_call_id: 'c' });
      const { content } = await chain.wrapToolCall({ toolCall: { name: 'read', args: {} } }, () => result);
      return Array.isArray(content) ? content[0] : content;
    },
  },
  {
    integration: 'langchain, blocks of the model',
    type: CHAIN_BLOCKS,
    send: (value) => inMessage(new AIMessage({ content: [value as never] })),
    own: /^\w+\((text|reasoning|refusal|tool_call|tool_call_chunk|invalid_tool_call|server_tool_call|server_tool_call_chunk)\)/,
  },
  {
    integration: 'langchain, tools',
    // Its parameters are declared as every kind of schema within every other.
    type: `{ type: 'function'; function: Omit<${FUNCTION}, 'parameters'> & { parameters: Record<string, unknown> } }`,
    send: async (value) => (await langchain({ messages: [new HumanMessage('Hello')], tools: [value] }))?.tools?.[0],
  },
  {
    integration: 'mastra, messages',
    // The package whose types Mastra's own prompts have.
    type: "import('@ai-sdk/provider-v5').LanguageModelV2Message",
    send: async (value) => {
      const shown = await mastra.processLLMRequest({ abort, prompt: [value] });
      return shown === undefined ? value : shown.prompt[0];
    },
    own: AI_SDK_OWN,
  },
  {
    integration: 'mastra, tools',
    type: `Pick<${LANGUAGE_MODEL}4FunctionTool, 'description' | 'inputExamples'> & { parameters: { jsonSchema: ${LANGUAGE_MODEL}4FunctionTool['inputSchema'] } }`,
    send: step,
  },
  {
    integration: 'openai, Chat Completions',
    type: "import('openai').OpenAI.ChatCompletionMessageParam",
    send: async (value) => (await openai('chat/completions', { messages: [value] }))?.messages?.[0],
    own: /^\w+\((developer|system|assistant)\)/,
  },
  {
    integration: 'openai, tools of Chat Completions',
    type: "import('openai').OpenAI.ChatCompletionTool",
    send: async (value) => (await openai('chat/completions', { messages: [hello], tools: [value] }))?.tools?.[0],
  },
  {
    integration: 'openai, Responses',
    type: "import('openai/resources/responses/responses').ResponseInputItem",
    send: async (value) => (await openai('responses', { input: [value] }))?.input?.[0],
    own: new RegExp(`${MODEL_WORDS}|${SECRETS}`),
  },
  {
    integration: 'openai, items of conversations',
    type: "import('openai/resources/responses/responses').ResponseInputItem",
    send: async (value) => (await openai('conversations', { items: [value] }))?.items?.[0],
    own: new RegExp(`${MODEL_WORDS}|${SECRETS}`),
  },
  {
    integration: 'openai, tools of Responses',
    type: "import('openai/resources/responses/responses').Tool",
    send: async (value) => (await openai('responses', { input: 'Hello', tools: [value] }))?.tools?.[0],
    own: new RegExp(SECRETS),
  },
  {
    integration: 'openai, prompt templates',
    type: "import('openai/resources/responses/responses').ResponsePrompt",
    send: async (value) => (await openai('responses', { prompt: value }))?.prompt,
    own: /\.(id|version)$/,
  },
  {
    integration: 'anthropic, Messages',
    type: "import('@anthropic-ai/sdk').Anthropic.MessageParam",
    send: async (value) => (await anthropic({ messages: [value] }))?.messages?.[0],
    own: new RegExp(String.raw`^\w+\((assistant|system)\)\.content(\[\]\((${MODEL_BLOCK})\)(?!\.tool_changes)|$)`),
  },
  {
    integration: 'anthropic, beta Messages',
    type: "import('@anthropic-ai/sdk/resources/beta/messages').BetaMessageParam",
    send: async (value) => (await anthropic({ messages: [value] }))?.messages?.[0],
    own: new RegExp(
      String.raw`^\w+\((assistant|system)\)\.(output_config|content(\[\]\((${MODEL_BLOCK})\)(?!\.tool_changes)|$))`,
    ),
  },
  {
    integration: 'anthropic, tools',
    type: "import('@anthropic-ai/sdk').Anthropic.ToolUnion",
    send: async (value) => (await anthropic({ messages: [hello], tools: [value] }))?.tools?.[0],
  },
  {
    integration: 'anthropic, beta tools',
    type: "import('@anthropic-ai/sdk/resources/beta/messages').BetaToolUnion",
    send: async (value) => (await anthropic({ messages: [hello], tools: [value] }))?.tools?.[0],
  },
  {
    integration: 'openai-agents, items',
    type: "import('@openai/agents').AgentInputItem",
    send: async (value) => (await agents.callModelInputFilter({ modelData: { input: [value as object] } })).input[0],
    own: new RegExp(MODEL_WORDS),
  },
  {
    integration: 'openai-agents, tools',
    type: "import('@openai/agents').HostedTool | import('@openai/agents').FunctionTool",
    send: async (value) => {
      const [tool] = await agents.tools([value as object]);
      return tool && withoutGuardrails(tool);
    },
    own: new RegExp(String.raw`${SECRETS}|\.(input|output)Guardrails\b`),
    honest: (value) => withoutGuardrails(value as object),
  },
  {
    integration: 'claude-agent, results of tools',
    type: "import('@anthropic-ai/claude-agent-sdk/sdk-tools').ToolOutputSchemas",
    send: async (value) => {
      const output = await answerHook(guard, { hook_event_name: 'PostToolUse', tool_name: 't', tool_response: value });
      if (output.continue === false) return undefined;
      const { hookSpecificOutput: changed } = output;
      return changed?.hookEventName === 'PostToolUse' ? changed.updatedToolOutput : value;
    },
  },
  {
    integration: 'litellm',
    type: "import('openai').OpenAI.ChatCompletionMessageParam",
    send: async (value) => {
      const { action } = await answerLiteLlm(guard, { input_type: 'request', structured_messages: [value as never] });
      return action === 'NONE' ? value : undefined;
    },
    own: /^\w+\((developer|system|assistant)\)|\.(tool_call_id|name)$/,
  },
  ...MCP_ROWS,
];

const named = Object.fromEntries(ROWS.map(({ type }, index) => [`T${index}`, type]));
const shapesByType = shapesOf(named);
const figures: string[] = [];
afterAll(() => console.log(figures.join('\n')));

/** The JSON of a value, with what its bytes say. */
const written = (value: unknown): string =>
  JSON.stringify([value], function (this: Record<string, unknown>, name: string, given: unknown) {
    const member = this[name];
    return member instanceof Uint8Array ? Buffer.from(member).toString() : given;
  });

const isRefusal = (error: unknown): boolean => error instanceof PortcullisBlocked || error instanceof Refused;
const arrived = (row: Row, value: unknown): Promise<unknown> =>
  row.send(value).catch((error) => {
    if (isRefusal(error)) return undefined;
    throw error;
  });

describe.each(ROWS.map((row, index) => [row.integration, row, index] as const))('%s', (_, row, index) => {
  const shapes = shapesByType[`T${index}`] as readonly Shape[];
  const foreign = shapes.filter(({ name }) => row.own === undefined || !row.own.test(name));

  it('the text of every string is screened', async () => {
    const leaks: string[] = [];
    for (const { name, make } of foreign)
      if (written(await arrived(row, make(ATTACK))).includes(ATTACK)) leaks.push(name);
    figures.push(`${row.integration}: ${foreign.length} of ${shapes.length} strings are foreign`);
    expect(foreign.length).toBeGreaterThan(1);
    expect(leaks).toEqual([]);
  });

  it('honest texts arrive equal', async () => {
    for (const { make } of shapes) {
      const value = make(BENIGN);
      const expected = row.honest?.(value) ?? value;
      expect(await arrived(row, value)).toEqual(expected);
    }
  });
});

const INVENTED = { type: 'hologram', layers: [{ caption: { lines: [ATTACK] } }] };
it.each<[string, Send]>([
  [
    'a message of Chat Completions',
    async (value) => openai('chat/completions', { messages: [{ role: 'user', content: [value] }] }),
  ],
  [
    'a result of Chat Completions',
    async (value) => openai('chat/completions', { messages: [{ role: 'tool', tool_call_id: 'c', content: [value] }] }),
  ],
  ['a message of the AI SDK', async (value) => aiSdk({ prompt: [{ role: 'user', content: [value] }] })],
  ['a result of the AI SDK', async (value) => aiSdk({ prompt: [{ role: 'tool', content: [value] }] })],
  [
    'an output of the AI SDK',
    async (value) => {
      const part = { type: 'tool-result', toolCallId: 'c', toolName: 'read', output: value };
      return aiSdk({ prompt: [{ role: 'tool', content: [part] }] });
    },
  ],
  [
    'a part of the AI SDK that the model did not write',
    async (value) => aiSdk({ prompt: [{ role: 'assistant', content: [value] }] }),
  ],
  [
    'a role of the AI SDK that is not known',
    async (value) => aiSdk({ prompt: [{ role: 'critic', content: [value] }] }),
  ],
  ['a tool of the AI SDK', async (value) => aiSdk({ prompt: [hello], tools: [value] })],
  ['a message of LangChain', async (value) => inMessage(new HumanMessage({ content: [value as never] }))],
  [
    'a result of LangChain',
    async (value) => inMessage(new ToolMessage({ content: [value as never], tool_call_id: 'c' })),
  ],
  ['a block of the model of LangChain', async (value) => inMessage(new AIMessage({ content: [value as never] }))],
  ['a tool of LangChain', async (value) => langchain({ messages: [new HumanMessage('Hello')], tools: [value] })],
  [
    'a message of Mastra',
    async (value) => (await mastra.processLLMRequest({ abort, prompt: [{ role: 'user', content: [value] }] }))?.prompt,
  ],
  ['a schema of a tool of Mastra', async (value) => step({ description: 'Reads.', inputSchema: value })],
  ['an item of Responses', async (value) => openai('responses', { input: [value] })],
  [
    'an item of a role that is not known',
    async (value) => openai('responses', { input: [{ role: 'critic', content: [value] }] }),
  ],
  [
    'an output of Responses',
    async (value) => openai('responses', { input: [{ type: 'seance_output', output: value }] }),
  ],
  ['a tool of Responses', async (value) => openai('responses', { input: 'Hello', tools: [value] })],
  ['a path that is not known', async (value) => openai('divinations', { input: [value] })],
  ['a message of Messages', async (value) => anthropic({ messages: [{ role: 'user', content: [value] }] })],
  [
    'a result of Messages',
    async (value) =>
      anthropic({
        messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: [value] }] }],
      }),
  ],
  ['a block of the assistant', async (value) => anthropic({ messages: [{ role: 'assistant', content: [value] }] })],
  ['a tool of Messages', async (value) => anthropic({ messages: [hello], tools: [value] })],
  [
    'an item of OpenAI Agents',
    async (value) => agents.callModelInputFilter({ modelData: { input: [value as object] } }),
  ],
  ['a tool of OpenAI Agents', async (value) => agents.tools([value as object])],
  ['a result of an MCP server', async (value) => mcpRow('tools/call', 'CallToolResult').send({ content: [value] })],
  ['a request of an MCP server', async (value) => mcpMessageRow('', { id: 1, method: 'x/y' }).send({ params: value })],
  [
    'a result of Claude Code',
    async (value) => answerHook(guard, { hook_event_name: 'PostToolUse', tool_response: value }),
  ],
])('a shape that nobody has heard of is caught in %s', async (_, send) => {
  const through = await send(INVENTED).catch((error) => {
    if (isRefusal(error)) return undefined;
    throw error;
  });
  expect(JSON.stringify(through ?? 'refused')).not.toContain(ATTACK);
  // The same without the attack passes.
  const honestShape = JSON.parse(JSON.stringify(INVENTED).replace(ATTACK, BENIGN)) as unknown;
  expect(JSON.stringify((await send(honestShape)) ?? 'refused')).not.toContain('portcullis');
});
