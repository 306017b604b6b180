import type { JSX } from "preact";

/** Why something cannot be shown, or is out of date. */
export function Problem({
  error,
  reload,
}: {
  readonly error: Error;
  readonly reload?: () => void;
}): JSX.Element {
  return (
    <p class="notice problem" role="alert">
      {error.message}
      {reload !== undefined && (
        <button type="button" class="quiet" onClick={reload}>
          Try again
        </button>
      )}
    </p>
  );
}
