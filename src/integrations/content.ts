import { type Enforcement, type Guard, type Point, passes, type ScreenCall } from '../policy/index.js';

/** A content as a model may see it. */
export interface Shown {
  readonly content: unknown;
  /** Why it isn't the content as it was given; undefined where it is, or has only been redacted. */
  readonly enforcement?: Enforcement | undefined;
  /** Whether the run ends: the model isn't called. */
  readonly ends: boolean;
}

/**
 * Screens the content of a message, a string or a list of blocks, and puts the note in the place of what doesn't pass. Of a
 * user's content the texts are what the user says; every other block is a document.
 */
export async function showContent(guard: Guard, point: Point, content: unknown, call: ScreenCall): Promise<Shown> {
  if (!Array.isArray(content) || point !== 'user') return showWhole(guard, point, content, call);
  const blocks: readonly unknown[] = content;
  const texts = blocks.filter(isText);
  const said = await showWhole(guard, point, texts, call);
  const shownTexts = [...(said.content as readonly unknown[])];
  const shown = await Promise.all(
    blocks.map(async (block) => {
      if (isText(block)) return shownTexts.splice(0, 1);
      const document = await guard.screen('document', block, call);
      if (passes(document)) return [document.value];
      return document.action === 'hide' ? [] : [noteBlock(texts[0], document.enforcement)];
    }),
  );
  const flat = shown.flat();
  const isSame = flat.length === blocks.length && flat.every((block, index) => block === blocks[index]);
  return { ...said, content: isSame ? content : flat };
}

async function showWhole(guard: Guard, point: Point, content: unknown, call: ScreenCall): Promise<Shown> {
  const decision = await guard.screen(point, content, call);
  if (passes(decision)) return { content: decision.value, ends: false };
  const { action, enforcement } = decision;
  const { note } = enforcement;
  const shown = Array.isArray(content) ? [noteBlock(content.find(isText), enforcement)] : note;
  return { content: shown, enforcement, ends: action === 'refuse' || action === 'stop' };
}

/** The note as a block of the kind that stood there. */
function noteBlock(like: unknown, { note }: Enforcement): unknown {
  return { type: (like as { type?: string } | undefined)?.type ?? 'text', text: note };
}

function isText(block: unknown): block is { readonly type: string } {
  const { type } = (typeof block === 'object' && block !== null ? block : {}) as { type?: unknown };
  return typeof type === 'string' && /^(\w+_)?text$/.test(type);
}
