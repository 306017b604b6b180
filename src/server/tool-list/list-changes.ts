import type { Clock } from "../../runtime/clock.ts";
import type { Registry } from "../../runtime/tool/registry.ts";
import { shownOf } from "./tool-forms.ts";

/** Changes within this many ms after another are announced with it. */
const togetherMs = 50;

/** Announces that our tools, as clients see them, have changed: once for changes made together. */
export class ListChanges {
  readonly #registry: Registry;
  readonly #clock: Pick<Clock, "after">;
  readonly #onError: (error: unknown) => void;
  readonly #listeners = new Set<() => void>();
  #shown: readonly (readonly unknown[])[];
  #due = false;

  constructor(registry: Registry, clock: Pick<Clock, "after">, onError: (error: unknown) => void) {
    this.#registry = registry;
    this.#clock = clock;
    this.#onError = onError;
    this.#shown = this.#look();
    registry.onChange(() => this.#changed());
  }

  /** Returns what ends the subscription. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #changed(): void {
    const before = this.#shown;
    this.#shown = this.#look();
    if (this.#due || isSame(before, this.#shown)) return;
    this.#due = true;
    this.#clock.after(togetherMs, () => this.#announce());
  }

  #announce(): void {
    this.#due = false;
    for (const listener of this.#listeners) {
      try {
        listener();
      } catch (error) {
        this.#onError(error); // the others hear of it all the same
      }
    }
  }

  #look(): readonly (readonly unknown[])[] {
    return this.#registry.all().map((tool) => shownOf(tool, this.#registry.isEnabled(tool)));
  }
}

function isSame(a: readonly (readonly unknown[])[], b: readonly (readonly unknown[])[]): boolean {
  return (
    a.length === b.length && a.every((shown, place) => shown.every((member, at) => member === b[place]?.[at]))
  );
}
