import type { FastifyReply } from 'fastify';

/** Sends a value as `application/json`, the media type to the letter: JSON has no charset parameter (RFC 8259, 11). */
export function sendJson(reply: FastifyReply, status: number, value: unknown): FastifyReply {
  return reply.code(status).header('content-type', 'application/json').serializer(JSON.stringify).send(value);
}
