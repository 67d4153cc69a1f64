import { Agent } from '@mastra/core/agent';
import { MockLanguageModelV3 } from 'ai/test';
import { guardProcessor } from '../../src/integrations/mastra/index.js';
import type { Guard } from '../../src/policy/index.js';

/** An agent of Mastra whose model does what `does` says, behind a guard. */
export function mastraAgent(guard: Guard, does: object): Agent {
  const processors = [guardProcessor(guard) as never];
  return new Agent({
    ...{ id: 'a', name: 'a', instructions: 'Help.' },
    model: new MockLanguageModelV3(does) as never,
    ...{ inputProcessors: processors, outputProcessors: processors },
  });
}
