import type { TaskStore } from "../store/store.ts";

/** Where a store keeps its tasks. Each case of the contract gets a new, empty one. */
export interface StorePlace {
  /** Returns a new store in this place, not open yet. */
  store(): TaskStore;
  /**
   * Takes an owner for dead, as if its process had ended without closing the store. Left out where a place has one owner at a
   * time: what happens between owners is not tested then.
   */
  kill?(owner: string): Promise<void>;
  /** Removes what was stored. All stores of the place are closed by then. */
  remove(): Promise<void>;
}

/** A store that is open, and for whom. */
export interface OpenStore {
  readonly store: TaskStore;
  readonly owner: string;
}

/** What a case works with. */
export interface StoreUnderTest {
  /** Open, with nothing in it, for the owner `owner-1`. */
  readonly store: TaskStore;
  /** Another store in the same place, not open yet. */
  readonly another: () => TaskStore;
  /** Closes the stores that are open, and opens another one in the same place. */
  readonly reopen: () => Promise<TaskStore>;
}

/** What a case works with that is about several owners. */
export interface StoresUnderTest extends StoreUnderTest {
  /** Opens another store in the same place, for an owner that can publish reports. */
  readonly join: () => Promise<OpenStore>;
  readonly kill: (owner: string) => Promise<void>;
}

type Check = (under: StoreUnderTest) => Promise<void>;
type OwnersCheck = (under: StoresUnderTest) => Promise<void>;

/** One thing that every store has to do. `check` rejects where the store does not. */
export interface StoreCase {
  readonly name: string;
  readonly check: OwnersCheck;
  /** True for a case that needs several owners. */
  readonly owners: boolean;
}

/** Cases about one area, by what they say. */
export function storeCases(area: string, checks: Readonly<Record<string, Check>>): readonly StoreCase[] {
  return Object.entries(checks).map(([says, check]) => ({ name: `${area}: ${says}`, check, owners: false }));
}

/** Cases about what happens between owners. */
export function ownerCases(
  area: string,
  checks: Readonly<Record<string, OwnersCheck>>,
): readonly StoreCase[] {
  return Object.entries(checks).map(([says, check]) => ({ name: `${area}: ${says}`, check, owners: true }));
}
