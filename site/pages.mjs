// Which Markdown files of the repository are pages of the site, and at which path.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const root = join(import.meta.dirname, '..');

/** Files of the repository and the page that each becomes. */
const SINGLE = {
  'site/home.md': 'index.md',
  'site/playground.md': 'playground.md',
  'site/errors.md': 'errors.md',
  'README.md': 'start.md',
  'CHANGELOG.md': 'changelog.md',
  'CONTRIBUTING.md': 'contributing.md',
  'SECURITY.md': 'reporting.md',
  'integrations/python/README.md': 'hosts/python.md',
  'integrations/spark/README.md': 'hosts/spark.md',
  'models/portcullis-minilm-1/README.md': 'models/minilm.md',
  'models/optional/portcullis-multilingual-1/README.md': 'models/multilingual.md',
};

/** Folders whose Markdown files are pages, and the folder of the site for each. */
const FOLDERS = { docs: '', 'site/api': 'api', 'bench/record': 'records', 'models/training': 'models/training' };

const markdownIn = (folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .sort();

/** The path of each page in the site, by its file in the repository. */
export const pages = new Map([
  ...Object.entries(SINGLE),
  ...Object.entries(FOLDERS).flatMap(([folder, to]) =>
    markdownIn(folder).map((name) => [join(folder, name), join(to, name.replace(/README\.md$/, 'index.md'))]),
  ),
]);

/** Pages below a folder of the site, each with its first heading as text, for the sidebar. */
export function listed(folder) {
  return [...pages]
    .filter(([, page]) => page.startsWith(folder))
    .map(([file, page]) => ({ text: heading(file), link: `/${page.replace(/(index)?\.md$/, '')}` }));
}

function heading(file) {
  const line = /^# (.*)$/m.exec(readFileSync(join(root, file), 'utf8'))?.[1] ?? file;
  return line.replaceAll('`', '').replaceAll('\\', '');
}
