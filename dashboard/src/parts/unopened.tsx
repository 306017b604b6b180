import type { JSX } from "preact";
import { Problem } from "./problem.tsx";

/** In the place of all of the page, where the server did not say who looks at it. */
export function Unopened({ error }: { readonly error: Error }): JSX.Element {
  return (
    <main>
      <h1>Holdfast</h1>
      <p>The dashboard could not be loaded.</p>
      <Problem error={error} reload={() => location.reload()} />
    </main>
  );
}
