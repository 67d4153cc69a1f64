import type { FastifySchemaCompiler } from 'fastify';
import type { FastifyRouteSchemaDef } from 'fastify/types/schema.js';
import { validatorCompiler } from 'fastify-type-provider-zod';
import type { ZodType } from 'zod';

/** The schemas of a screening call are asked only of what isn't plainly right: no query, a body that has an `input`. */
export const validateCall: FastifySchemaCompiler<unknown> = (route) => {
  const ask = validatorCompiler(route as FastifyRouteSchemaDef<ZodType>);
  const isRight = route.httpPart === 'body' ? hasInput : isEmpty;
  return (value: unknown) => (isRight(value) ? { value } : ask(value));
};

function hasInput(body: unknown): boolean {
  return typeof body === 'object' && body !== null && Object.hasOwn(body, 'input');
}

function isEmpty(query: unknown): boolean {
  for (const _ in query as object) return false;
  return true;
}
