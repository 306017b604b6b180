import type { JSX } from "preact";
import { durationText } from "./time.tsx";

/** Says that a list was read from a replica, and how far that was behind. */
export function Behind({ ms }: { readonly ms: number | undefined }): JSX.Element | null {
  if (ms === undefined) return null;
  return (
    <p class="faint">
      {ms === 0
        ? "Read from a replica that is up to date."
        : `Read from a replica, ${durationText(ms)} behind.`}
    </p>
  );
}

/** What a replica did not have yet is worth another look. */
export function isBehind({ behindMs = 0 }: { readonly behindMs?: number }): boolean {
  return behindMs > 0;
}
