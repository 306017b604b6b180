import type { JSX } from "preact";

/** A value as JSON, rendered as text only. */
export function Json({ value, label }: { readonly value: unknown; readonly label: string }): JSX.Element {
  return (
    <pre class="json" tabIndex={0} aria-label={label}>
      {JSON.stringify(value, null, 2)}
    </pre>
  );
}
