import type { ComponentChildren, JSX } from 'preact';

interface DoorProps {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly onSubmit?: (event: Event) => void;
}

/** The page of who isn't in yet: the name of the product, and one panel. */
export function Door({ title, children, onSubmit }: DoorProps): JSX.Element {
  return (
    <main class="door">
      <p class="brand">
        <span class="gate" aria-hidden="true" />
        Portcullis
      </p>
      <form class="panel" onSubmit={onSubmit}>
        <h1>{title}</h1>
        {children}
      </form>
      <p class="hint">Screens text for prompt injection before it reaches a tool or a model.</p>
    </main>
  );
}
