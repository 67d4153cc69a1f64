import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PACKAGE_NAME = 'portcullis';

/** The folder of the model that comes with the library; undefined where it was installed without one. */
export function findModel(): string | undefined {
  const root = packageRoot();
  const models = root && join(root, 'models');
  if (models === undefined || !existsSync(models)) return undefined;
  const ids = readdirSync(models).sort();
  const id = ids.find((name) => existsSync(join(models, name, 'manifest.json')));
  return id && join(models, id);
}

function packageRoot(): string | undefined {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const file = join(folder, 'package.json');
    if (existsSync(file)) {
      const { name } = JSON.parse(readFileSync(file, 'utf8')) as { readonly name?: unknown };
      if (name === PACKAGE_NAME) return folder;
    }
    if (dirname(folder) === folder) return undefined;
  }
}
