// What the build writes into dist about the package: the notices of packages whose code is in it, its bill of materials, and the digests
// that `portcullis doctor --verify` compares.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'));
const sha256 = (content) => createHash('sha256').update(content).digest('hex');
const filesOf = (folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
/** Folders of the models that come with the package. */
const models = () =>
  readdirSync('models')
    .map((name) => join('models', name))
    .filter((folder) => existsSync(join(folder, 'manifest.json')));

/** Full texts of the licences of the packages named. */
function notices(names) {
  const texts = names.map((name) => {
    const folder = join('node_modules', name);
    const { version, license } = readJson(join(folder, 'package.json'));
    const file = readdirSync(folder).find((one) => /^(licen[cs]e|copying)(\.\w+)?$/i.test(one));
    if (file === undefined) throw new Error(`${name} has no licence file`);
    return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
  });
  return `The files of this folder include code of these packages.\n\n${texts.join(`\n${'-'.repeat(80)}\n\n`)}`;
}

/** Components of the whole lock file. `--omit=dev` would also leave out what is needed both by us and by our tools. */
function lockedComponents() {
  const cli = process.env.npm_execpath;
  const args = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=library', '--package-lock-only'];
  // Vite sets NODE_ENV to production, with which npm leaves tools out.
  const env = { ...process.env, NODE_ENV: '' };
  const options = { encoding: 'utf8', maxBuffer: 1 << 26, env, shell: !cli && process.platform === 'win32' };
  const { status, stdout, stderr } = cli
    ? spawnSync(process.execPath, [cli, ...args], options)
    : spawnSync('npm', args, options);
  if (status !== 0) throw new Error(`npm sbom failed: ${stderr}`);
  return JSON.parse(stdout);
}

/** CycloneDX: what is installed with the package, what is in dist, and the models. The same for every build of one commit. */
function billOfMaterials(names) {
  const { name, version, description, license } = readJson('package.json');
  const { $schema, bomFormat, specVersion, components: locked } = lockedComponents();
  const installed = Object.entries(readJson('package-lock.json').packages)
    .filter(([place, { dev, devOptional, peer }]) => place !== '' && !dev && !devOptional && !peer)
    .map(([place, { version: installedVersion }]) => `${place.replace(/^.*node_modules\//, '')}@${installedVersion}`);
  const components = locked.filter(
    (component) => installed.includes(component['bom-ref']) || names.includes(component.name),
  );
  const missing = installed.filter((ref) => !components.some((component) => component['bom-ref'] === ref));
  if (missing.length > 0) throw new Error(`npm sbom left out ${missing.join(', ')}`);
  const trained = models().map((folder) => {
    const manifest = readJson(join(folder, 'manifest.json'));
    return {
      'bom-ref': `${manifest.id}@${manifest.version}`,
      type: 'machine-learning-model',
      name: manifest.id,
      version: manifest.version,
      hashes: [{ alg: 'SHA-256', content: sha256(readFileSync(join(folder, 'model.onnx'))) }],
      licenses: [{ license: { id: license } }],
    };
  });
  const component = {
    'bom-ref': `${name}@${version}`,
    type: 'library',
    name,
    version,
    description,
    licenses: trained[0]?.licenses,
  };
  const content = {
    metadata: { component: { ...component, purl: `pkg:npm/${name}@${version}` } },
    components: [...components, ...trained],
  };
  const id = sha256(JSON.stringify(content)).replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-5$3-8$4-$5');
  return { $schema, bomFormat, specVersion, serialNumber: `urn:uuid:${id}`, version: 1, ...content };
}

/** SHA-256 of every file that the package runs or reads, by its path. */
function digests() {
  const ofModels = models().flatMap((folder) =>
    ['manifest.json', ...Object.keys(readJson(join(folder, 'manifest.json')).files)].map((name) => join(folder, name)),
  );
  const paths = [
    ...filesOf('dist').filter((path) => path !== join('dist', '.built-from')),
    ...filesOf('rules'),
    ...ofModels,
  ];
  return Object.fromEntries(paths.map((path) => [path.replaceAll('\\', '/'), sha256(readFileSync(path))]).sort());
}

/** Writes them. `names`: packages whose code is in dist. */
export function writeRecords(names) {
  const write = (file, content) => writeFileSync(join('dist', file), content);
  const sorted = [...new Set(names)].sort();
  write('third-party-notices.txt', notices(sorted));
  write('sbom.cdx.json', `${JSON.stringify(billOfMaterials(sorted), null, 1)}\n`);
  write('digests.json', `${JSON.stringify(digests(), null, 1)}\n`);
}
