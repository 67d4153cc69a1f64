import { Hono } from 'hono';
import { createEngine } from 'portcullis';
import { guardHono } from 'portcullis/http';
import { createGuard } from 'portcullis/policy';

const guard = createGuard({ engine: createEngine() });

/** With Express `guardExpress` goes after `express.json()`; with Fastify `guardFastify` is a `preHandler`. */
export const app: Hono = new Hono();
app.post('/chat', guardHono(guard, { field: 'message.text' }), async (context) => {
  const { message } = await context.req.json<{ message: { text: string } }>();
  return context.json({ got: message.text });
});
