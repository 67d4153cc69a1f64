// The sidebar: pages by what a reader wants to do. Every page of docs/ must be named here; records and decisions have sidebars of their own.
import { listed, pages } from './pages.mjs';

const page = (text, link) => ({ text, link });

const tasks = [
  {
    text: 'Start',
    items: [
      page('Install and first verdict', '/start'),
      page('Playground', '/playground'),
      page('The verdict', '/verdict'),
      page('Error codes', '/errors'),
      page('In the browser', '/web'),
    ],
  },
  {
    text: 'Guard and runs',
    items: [
      page('Where to put it', '/hosts/'),
      page('Runs: following the data', '/runs'),
      page('Traces and metrics', '/opentelemetry'),
    ],
  },
  {
    text: 'Hosts',
    items: [
      page('Vercel AI SDK', '/hosts/ai-sdk'),
      page('LangChain', '/hosts/langchain'),
      page('Mastra', '/hosts/mastra'),
      page('OpenAI Agents', '/hosts/openai-agents'),
      page('openai', '/hosts/openai'),
      page('Anthropic', '/hosts/anthropic'),
      page('Claude Agent SDK', '/hosts/claude-agent'),
      page('Claude Code', '/hosts/claude-code'),
      page('MCP', '/hosts/mcp'),
      page('Express, Hono, Fastify', '/hosts/http'),
      page('LiteLLM', '/hosts/litellm'),
      page('Python', '/hosts/python'),
      page('Spark', '/hosts/spark'),
      page('Writing an integration', '/writing-an-integration'),
    ],
  },
  {
    text: 'Service',
    items: [
      page('Running the service', '/operating'),
      page('Dashboard', '/dashboard'),
      page('Store, plans, quotas', '/store'),
      page('Batches', '/scaling'),
    ],
  },
  {
    text: 'Rules and tuning',
    items: [
      page('Writing rules', '/rules'),
      page('A first rule, step by step', '/contributing-log'),
      page('Measuring on your texts', '/evaluation'),
      page('Tuning', '/tuning'),
      page('A tuning run, step by step', '/tuning-run'),
      page('The model', '/models/minilm'),
      page('The optional model', '/models/multilingual'),
    ],
  },
  {
    text: 'Operations',
    items: [
      page('Runbook', '/runbook'),
      page('Security', '/security'),
      page('Reporting a vulnerability', '/reporting'),
    ],
  },
  { text: 'API', items: [page('Modules', '/api/'), ...listed('api/portcullis')] },
  {
    text: 'Project',
    items: [
      page('Architecture', '/architecture'),
      page('Contributing', '/contributing'),
      page('Changelog', '/changelog'),
      page('Measurements', '/records/world'),
      page('Decisions', '/decisions/2026-11-21-contract'),
      page('How the model was made', '/models/training/'),
    ],
  },
];

const back = { text: 'Documentation', items: [page('Start', '/start')] };

/** Long lists have a sidebar of their own. */
export const sidebar = {
  '/records/': [back, { text: 'Measurements', items: listed('records/') }],
  '/decisions/': [back, { text: 'Decisions', items: listed('decisions/') }],
  '/models/training/': [back, { text: 'How the model was made', items: listed('models/training/') }],
  '/': tasks,
};

const linksOf = (items) =>
  items.flatMap((it) => [...(it.link === undefined ? [] : [it.link]), ...linksOf(it.items ?? [])]);
const named = new Set(linksOf(Object.values(sidebar).flat()).map((link) => link.replace(/\/$/, '/index')));
const missing = [...pages.values()].filter((it) => it !== 'index.md' && !named.has(`/${it.slice(0, -'.md'.length)}`));
if (missing.length > 0) throw new Error(`site/sidebar.mjs does not name ${missing.join(', ')}`);
