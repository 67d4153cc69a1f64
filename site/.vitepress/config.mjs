import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { defineConfig } from 'vitepress';
import { pages, root } from '../pages.mjs';
import { sidebar } from '../sidebar.mjs';

const { GITHUB_REPOSITORY, GITHUB_SERVER_URL, GITHUB_SHA, SITE_BASE } = process.env;
/** Where the repository is read, known in CI alone: without it, files that are no pages are named and not linked. */
const repository = GITHUB_REPOSITORY && `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}/blob/${GITHUB_SHA}`;
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** Anchors as GitHub makes them, so that a link to a heading works in both. */
const slugify = (heading) =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}\s_-]/gu, '')
    .replaceAll(' ', '-');

/** Links between files of the repository lead to the pages that they become. */
function linkPages(md) {
  md.core.ruler.push('link-pages', ({ tokens, env }) => {
    // A title in the frontmatter is read on its own.
    if (env.path === undefined) return;
    const folder = dirname(relative(root, env.realPath ?? env.path));
    for (const [index, token, siblings] of tokens.flatMap(({ children }) =>
      (children ?? []).map((it, at, all) => [at, it, all]),
    )) {
      const href = token.type === 'link_open' ? token.attrGet('href') : null;
      if (href === null || /^([a-z]+:|#|\/(?!docs\/))/.test(href)) continue;
      const [target, anchor] = href.split('#');
      const file = target.startsWith('/') ? target.slice(1) : join(folder, decodeURI(target));
      const page = pages.get(file);
      if (page !== undefined) token.attrSet('href', `/${page}${anchor === undefined ? '' : `#${anchor}`}`);
      else if (!existsSync(join(root, file))) throw new Error(`${env.relativePath}: ${href} leads nowhere`);
      else if (repository) token.attrSet('href', `${repository}/${file}`);
      else {
        token.attrs = [['title', 'A file of the repository']];
        for (const end of [token, siblings.slice(index).find(({ type }) => type === 'link_close')]) end.tag = 'span';
      }
    }
  });
}

/** Braces of our Markdown are text: Vue would evaluate them. */
function escapeBraces(md) {
  for (const rule of ['text', 'code_inline']) {
    const render = md.renderer.rules[rule];
    md.renderer.rules[rule] = (...given) => render(...given).replaceAll('{{', '&#123;&#123;');
  }
}

/** Tables take the focus, so that the keyboard can scroll a wide one; a head without words is a plain cell. */
function openTables(md) {
  md.renderer.rules.table_open = () => '<table tabindex="0">\n';
  md.core.ruler.push('empty-heads', ({ tokens }) => {
    for (const [at, { type }] of tokens.entries())
      if (type === 'th_open' && tokens[at + 1].content === '')
        for (const it of [tokens[at], tokens[at + 2]]) it.tag = 'td';
  });
}

/** Search ranks what explains above what records. Runs in the browser, so it uses nothing from here. */
function guidesFirst(id) {
  return /\/(records|decisions|training|changelog)/.test(id) ? 0.2 : 1;
}

/** Folders and files of the repository that have no page. */
const tops = new Set([...pages.keys()].map((file) => file.split('/')[0]));
const foreign = readdirSync(root, { withFileTypes: true })
  .filter(({ name }) => !tops.has(name))
  .map((it) => (it.isDirectory() ? `${it.name}/**` : it.name));

function pathOf(file) {
  const page = pages.get(file);
  if (page === undefined) throw new Error(`site/pages.mjs says nothing of ${file}`);
  return page;
}

/** Pages lie outside this folder, whose packages they use. */
const vueOfThisFolder = {
  name: 'vue-of-this-folder',
  enforce: 'pre',
  resolveId(id, importer, { ssr }) {
    if (!/^vue(\/|$)/.test(id)) return undefined;
    if (ssr) return { id, external: true };
    return importer?.endsWith('.md')
      ? this.resolve(id, join(root, 'site', 'package.json'), { skipSelf: true })
      : undefined;
  },
};

export default defineConfig({
  srcDir: '..',
  outDir: 'dist',
  cacheDir: 'node_modules/.cache/vitepress',
  base: SITE_BASE ?? '/',
  lang: 'en',
  title: 'Portcullis',
  description: 'Screens text for prompt injection before it reaches a model or a tool.',
  // Browsers ask for /favicon.ico otherwise.
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  srcExclude: foreign,
  rewrites: pathOf,
  markdown: {
    anchor: { slugify },
    attrs: { disable: true },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config(md) {
      linkPages(md);
      escapeBraces(md);
      openTables(md);
    },
  },
  themeConfig: {
    nav: [
      { text: 'Start', link: '/start', activeMatch: '^/start' },
      { text: 'Hosts', link: '/hosts/', activeMatch: '^/hosts/' },
      { text: 'API', link: '/api/', activeMatch: '^/api/' },
      { text: 'Playground', link: '/playground' },
    ],
    sidebar,
    outline: { level: [2, 3] },
    search: { provider: 'local', options: { miniSearch: { searchOptions: { boostDocument: guidesFirst } } } },
    notFound: { linkLabel: 'Take me home' },
    footer: { message: `Portcullis ${version}. Apache-2.0.` },
  },
  vite: {
    publicDir: join(root, 'site', 'public'),
    plugins: [vueOfThisFolder],
    build: { chunkSizeWarningLimit: 8_000 },
  },
});
