import { writeFile } from 'node:fs/promises';
import { CliError } from './cli-error.js';
import { reasonOf } from './read-text.js';

/** Writes a report. @throws CliError naming the file */
export const writeReport = async (file: string, content: string): Promise<void> => {
  try {
    await writeFile(file, content);
  } catch (error) {
    throw new CliError(`Can't write ${file}: ${reasonOf(error)}.`);
  }
};
