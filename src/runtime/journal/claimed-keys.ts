import { HoldfastError } from "../../task/fault.ts";
import { encodeJournalKey, type JournalKey } from "../../task/journal.ts";

/** The journal keys that one attempt has used. A key names one thing in a task; otherwise a replay could confuse two. */
export class ClaimedKeys {
  readonly #keys = new Set<string>();

  claim(key: JournalKey): string {
    assertKey(key);
    const encoded = encodeJournalKey(key);
    if (this.#keys.has(encoded)) {
      throw new HoldfastError(
        "duplicate_key",
        `The key ${JSON.stringify(key)} was already used in this task. Give each step and question its own key; in a loop, include the item, such as ["hash", path].`,
      );
    }
    this.#keys.add(encoded);
    return encoded;
  }
}

function assertKey(key: unknown): void {
  const parts: readonly unknown[] = Array.isArray(key) ? key : [key];
  const whole = Array.isArray(key) || typeof key === "string";
  if (whole && parts.every((part) => typeof part === "string" || Number.isFinite(part))) return;
  throw new TypeError(`A key must be a string or an array of strings and finite numbers, not ${typeof key}.`);
}
