import type { JSX } from "preact";
import { Problem } from "./problem.tsx";

/** Replaces the whole page if the server did not say who the user is. */
export function Unopened({ error }: { readonly error: Error }): JSX.Element {
  return (
    <main>
      <h1>Holdfast</h1>
      <p>The dashboard could not be loaded.</p>
      <Problem error={error} reload={() => location.reload()} />
    </main>
  );
}
