import { z } from 'zod';
import { ruleSchema } from '../engine/rules/rule-schema.js';

/** The JSON Schema of a rule file, for editors: the text of `rules/schema.json`. */
export function ruleJsonSchema(): string {
  const schema = z.toJSONSchema(ruleSchema, { io: 'input', target: 'draft-7' });
  return `${JSON.stringify({ ...schema, title: 'Portcullis rule' }, null, 2)}\n`;
}
