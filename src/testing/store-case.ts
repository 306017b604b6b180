import type { TaskStore } from "../store/store.ts";

/** Where a store keeps its tasks. Each case of the contract gets a new, empty one. */
export interface StorePlace {
  /** Returns a new store in this place, not open yet. */
  store(): TaskStore;
  /** Removes what was stored. All stores of the place are closed by then. */
  remove(): Promise<void>;
}

/** What a case works with. */
export interface StoreUnderTest {
  /** Open, with nothing in it. */
  readonly store: TaskStore;
  /** Another store in the same place, not open yet. */
  readonly another: () => TaskStore;
  /** Closes the stores that are open, and opens another one in the same place. */
  readonly reopen: () => Promise<TaskStore>;
}

/** One thing that every store has to do. `check` rejects where the store does not. */
export interface StoreCase {
  readonly name: string;
  readonly check: (under: StoreUnderTest) => Promise<void>;
}

/** Cases about one area, by what they say. */
export function storeCases(
  area: string,
  checks: Readonly<Record<string, StoreCase["check"]>>,
): readonly StoreCase[] {
  return Object.entries(checks).map(([says, check]) => ({ name: `${area}: ${says}`, check }));
}
