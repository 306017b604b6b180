import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";

/** A section of a page, labelled by its heading. */
export function Section({
  title,
  children,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  const heading = useId();
  return (
    <section class="card" aria-labelledby={heading}>
      <h2 id={heading}>{title}</h2>
      {children}
    </section>
  );
}
