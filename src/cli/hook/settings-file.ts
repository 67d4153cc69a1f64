import { isDeepStrictEqual } from 'node:util';
import { applyEdits, type FormattingOptions, type JSONPath, modify, type ParseError, parse } from 'jsonc-parser';
import type { HookEventName } from '../../integrations/claude-agent/answer-hook.js';
import { isObject } from '../../integrations/json-value.js';
import { CliError } from '../terminal.js';

/** One hook in the settings of Claude Code. @see https://code.claude.com/docs/en/hooks */
export type HookEntry =
  | { readonly type: 'command'; readonly command: string; readonly timeout: number; readonly onFailure: 'block' }
  | {
      readonly type: 'http';
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly allowedEnvVars: readonly string[];
      readonly timeout: number;
      readonly onFailure: 'block';
    };

/** Events to hook for a session. `PostToolBatch` sees failed tools too, so `PostToolUseFailure` has nothing to add. */
const EVENTS: readonly HookEventName[] = ['UserPromptSubmit', 'PreToolUse', 'PostToolUse', 'PostToolBatch'];

const OWN_COMMAND = /(^|[\s/\\'"])(portcullis(\.cmd|\.exe)?|cli[/\\]main\.js)['"]?\s+hook(\s|$)/;
const OWN_PATH = /\/hooks\/claude-code(\?|$)/;

/** Whether `hook install` wrote this entry. */
function isOurs(entry: unknown): boolean {
  if (typeof entry !== 'object' || entry === null) return false;
  const { type, command, url } = entry as Readonly<Record<string, unknown>>;
  if (type === 'http') return typeof url === 'string' && OWN_PATH.test(url);
  return typeof command === 'string' && OWN_COMMAND.test(command);
}

/**
 * The text of a settings file with our hooks as given, or without any. Comments, order, indentation and all other hooks stay;
 * the same text where there is nothing to change.
 *
 * @throws CliError where the text is no settings file: it is never guessed at
 */
export function withHooks(text: string, entry: HookEntry | undefined, file: string): string {
  const mark = text.startsWith('\uFEFF') ? '\uFEFF' : '';
  const given = text.slice(mark.length);
  const isEmpty = given.trim() === '';
  if (isEmpty && entry === undefined) return text;
  let content = isEmpty ? '{}\n' : given;
  const before = settingsIn(content, file);
  const formattingOptions = detectFormat(content);
  const edit = (path: JSONPath, value: unknown, isArrayInsertion = false): void => {
    content = applyEdits(content, modify(content, path, value, { formattingOptions, isArrayInsertion }));
  };

  const names = new Set([...Object.keys(before.hooks), ...(entry === undefined ? [] : EVENTS)]);
  for (const name of names) {
    const groups = before.hooks[name] ?? [];
    const own = groups.flatMap(({ hooks }) => hooks.filter(isOurs));
    const isWanted = entry !== undefined && EVENTS.some((event) => event === name);
    if (isWanted && own.length === 1 && isDeepStrictEqual(own[0], entry)) continue;
    // From the end, so that the places of the others stay.
    for (let group = groups.length - 1; group >= 0; group -= 1) {
      const hooks = groups[group]?.hooks ?? [];
      if (!hooks.some(isOurs)) continue;
      if (hooks.every(isOurs)) edit(['hooks', name, group], undefined);
      else
        edit(
          ['hooks', name, group, 'hooks'],
          hooks.filter((hook) => !isOurs(hook)),
        );
    }
    if (isWanted) {
      const isListed = settingsIn(content, file).hooks[name] !== undefined;
      if (isListed) edit(['hooks', name, -1], { hooks: [entry] }, true);
      else edit(['hooks', name], [{ hooks: [entry] }]);
    } else if (own.length > 0 && settingsIn(content, file).hooks[name]?.length === 0) edit(['hooks', name], undefined);
  }
  if (entry === undefined && content !== given && Object.keys(settingsIn(content, file).hooks).length === 0)
    edit(['hooks'], undefined);
  verify(before, settingsIn(content, file), entry, file);
  return mark + content;
}

interface Settings {
  readonly rest: Readonly<Record<string, unknown>>;
  readonly hooks: Readonly<Record<string, readonly Group[]>>;
}

interface Group {
  readonly hooks: readonly unknown[];
}

function settingsIn(text: string, file: string): Settings {
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  const refuse = (what: string): never => {
    throw new CliError(`${file} ${what}. Nothing was written. Fix it first.`);
  };
  if (first !== undefined) {
    const line = text.slice(0, first.offset).split('\n').length;
    refuse(`is not JSON at line ${line}`);
  }
  if (!isObject(value)) return refuse('is not a JSON object');
  const { hooks = {}, ...rest } = value;
  if (!isObject(hooks)) return refuse('has `hooks` that are no object');
  for (const [name, groups] of Object.entries(hooks)) {
    const isList = Array.isArray(groups) && groups.every((group) => isObject(group) && Array.isArray(group.hooks));
    if (!isList) refuse(`has \`hooks.${name}\` in a form that Claude Code does not read`);
  }
  return { rest, hooks: hooks as Settings['hooks'] };
}

/** An edit of text by its structure: proof that nothing else was touched. */
function verify(before: Settings, after: Settings, entry: HookEntry | undefined, file: string): void {
  const isSame =
    isDeepStrictEqual(before.rest, after.rest) && isDeepStrictEqual(ofOthers(before.hooks), ofOthers(after.hooks));
  const own = Object.entries(after.hooks).flatMap(([name, groups]) =>
    groups.flatMap(({ hooks }) => hooks.filter(isOurs)).map((hook) => [name, hook] as const),
  );
  const wanted = entry === undefined ? [] : EVENTS;
  const isRight =
    own.length === wanted.length &&
    own.every(([name, hook]) => wanted.some((event) => event === name) && isDeepStrictEqual(hook, entry));
  if (!isSame || !isRight)
    throw new CliError(
      `${file} can't be changed safely (a name twice in one object?). Nothing was written: add the hooks by hand.`,
    );
}

function ofOthers(hooks: Settings['hooks']): readonly unknown[] {
  return Object.entries(hooks)
    .map(([name, groups]) => {
      const kept = groups
        .map((group) => ({ ...group, hooks: group.hooks.filter((hook) => !isOurs(hook)) }))
        .filter((group, index) => group.hooks.length > 0 || groups[index]?.hooks.length === 0);
      return [name, kept] as const;
    })
    .filter(([, kept]) => kept.length > 0)
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

function detectFormat(text: string): FormattingOptions {
  const indent = /\n([ \t]+)\S/.exec(text)?.[1] ?? '  ';
  return {
    insertSpaces: !indent.startsWith('\t'),
    tabSize: indent.startsWith('\t') ? 1 : indent.length,
    eol: text.includes('\r\n') ? '\r\n' : '\n',
  };
}
