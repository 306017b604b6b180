import type { TaskStore } from "../store/store.ts";

/** Where one store keeps its tasks: for each case of the contract a new and empty one. */
export interface StorePlace {
  /** A store that is not open yet; another one each time, in this same place. */
  store(): TaskStore;
  /** Removes what was kept. All stores of the place are closed by then. */
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
