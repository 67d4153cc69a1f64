/** A bare fastify echo: what any service on it has at most. */
import Fastify from 'fastify';

const app = Fastify();
app.post('/analyze', async (request) => request.body);
await app.listen({ host: '127.0.0.1', port: 0 });
const address = app.server.address();
if (address === null || typeof address === 'string') throw new Error('no port');
process.stdout.write(`ready http://127.0.0.1:${address.port}\n`);
