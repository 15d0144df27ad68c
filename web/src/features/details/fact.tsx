import type { ComponentChildren } from 'preact';

interface FactProps {
  name: string;
  children: ComponentChildren;
  /** A button for the value. */
  button?: ComponentChildren;
}

/** One property in the details. */
export function Fact({ name, children, button }: FactProps) {
  return (
    <div class="fact">
      <dt>{name}</dt>
      <dd>
        <div>{children}</div>
        {button}
      </dd>
    </div>
  );
}
