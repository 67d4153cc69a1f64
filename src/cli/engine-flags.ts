import { type Command, Option } from 'commander';

/** The options that every command takes about the engine. */
export interface EngineFlags {
  readonly mode?: 'rules' | 'hybrid' | 'shadow';
  readonly pack?: readonly string[];
  readonly overlay?: readonly string[];
  readonly model?: string;
  readonly json?: boolean;
}

const collect = (value: string, before: readonly string[] | undefined): readonly string[] => [...(before ?? []), value];

/** Adds `--mode`, `--pack`, `--overlay`, `--model` and `--json` to a command. */
export const withEngineFlags = (command: Command): Command => withScreenerFlags(command).option('--json', 'print JSON');

/** The same without `--json`, for commands whose `--json` takes a file. */
export const withScreenerFlags = (command: Command): Command =>
  command
    .addOption(
      new Option(
        '--mode <mode>',
        'who decides: the rules alone, rules and model, or the rules with the model watched',
      ).choices(['rules', 'hybrid', 'shadow']),
    )
    .addOption(
      new Option(
        '--pack <folder>',
        'a rule pack: folder or npm package; may be repeated, later ones lie on top',
      ).argParser(collect),
    )
    .addOption(
      new Option(
        '--overlay <file>',
        'a local file that switches rules off, re-scores or allow-lists; may be repeated',
      ).argParser(collect),
    )
    .option('--model <folder>', 'a model folder; "off" for none');
