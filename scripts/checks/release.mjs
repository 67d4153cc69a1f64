// Checks that a release may be published: the names of the package and of the model package are ours, the tag is the version, also that
// of the wheels, the changelog has a date, and the manifests name the repository that npm's provenance will name. Run by the release workflow; without a tag it checks the rest.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const read = (name) => readFileSync(join(root, name), 'utf8');
const manifestOf = (folder) => JSON.parse(read(join(folder, 'package.json')));
const MODEL = join('models', 'optional', 'portcullis-multilingual-1');
const { name, version, private: isPrivate } = manifestOf('.');
const packages = [manifestOf('.'), manifestOf(MODEL)];
const held = JSON.parse(read('scripts/checks/held-names.json'));
const { GITHUB_REF_NAME: tag, GITHUB_REPOSITORY: place } = process.env;
const heading = read('CHANGELOG.md')
  .split('\n')
  .find((line) => line.startsWith('## '));

const faults = [
  ...packages.map((its) => [
    !held.includes(its.name),
    `${its.name} is not in scripts/checks/held-names.json: decide on a name, hold it on npm, and set up trusted publishing for it`,
  ]),
  [isPrivate === true, 'package.json is private'],
  [tag !== undefined && tag !== `v${version}`, `the tag ${tag} is not v${version}, the version in package.json`],
  [
    !/^## \S+ \(\d{4}-\d{2}-\d{2}\)$/.test(heading ?? '') || !heading.startsWith(`## ${version} (`),
    `CHANGELOG.md begins with "${heading}", not with "## ${version} (YYYY-MM-DD)"`,
  ],
  ...packages.map((its) => [
    its.repository?.url === undefined ||
      (place !== undefined && !its.repository.url.endsWith(`github.com/${place}.git`)),
    `repository.url in the package.json of ${its.name} is ${its.repository?.url}, not the repository that publishes`,
  ]),
  [
    manifestOf(MODEL).version !== JSON.parse(read(join(MODEL, 'manifest.json'))).version,
    `package.json and manifest.json in ${MODEL} have different versions`,
  ],
  ...['python', 'spark'].map((wheel) => [
    !read(`integrations/${wheel}/pyproject.toml`).includes(`\nversion = "${version}"\n`),
    `integrations/${wheel}/pyproject.toml does not have the version ${version}`,
  ]),
  [read('.github/CODEOWNERS').includes('@_owner_'), '.github/CODEOWNERS does not name its owners yet'],
].flatMap(([isFault, message]) => (isFault ? [message] : []));
for (const fault of faults) console.error(`release: ${fault}`);
if (faults.length === 0) console.log(`release: ${name}@${version} may be published`);
process.exitCode = faults.length > 0 ? 1 : 0;
