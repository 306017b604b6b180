import type { TaskStore } from "../store/store.ts";

/** Where a store keeps its tasks. Each case of the contract gets a new, empty one. */
export interface StorePlace {
  /** Returns a new store in this place, not open yet. */
  store(): TaskStore;
  /**
   * Treats an owner as dead, as if its process had ended without closing the store. Left out if a place has one owner at a time: cases with
   * several owners are then skipped.
   */
  kill?(owner: string): Promise<void>;
  /** Removes what was stored. By then, all stores of the place are closed. */
  remove(): Promise<void>;
}

/** An open store and its owner. */
export interface OpenStore {
  readonly store: TaskStore;
  readonly owner: string;
}

/** What a case works with. */
export interface StoreUnderTest {
  /** Open and empty, for the owner `owner-1`. */
  readonly store: TaskStore;
  /** Another store in the same place, not open yet. */
  readonly another: () => TaskStore;
  /** Closes the open stores, and opens another one in the same place. */
  readonly reopen: () => Promise<TaskStore>;
}

/** What a case with several owners works with. */
export interface StoresUnderTest extends StoreUnderTest {
  /** Opens another store in the same place, for an owner that can publish reports. */
  readonly join: () => Promise<OpenStore>;
  readonly kill: (owner: string) => Promise<void>;
}

type Check = (under: StoreUnderTest) => Promise<void>;
type OwnersCheck = (under: StoresUnderTest) => Promise<void>;

/** Something that every store must do. `check` rejects if the store does not. */
export interface StoreCase {
  readonly name: string;
  readonly check: OwnersCheck;
  /** True for a case that needs several owners. */
  readonly owners: boolean;
}

/** Cases about one area, by their titles. */
export function storeCases(area: string, checks: Readonly<Record<string, Check>>): readonly StoreCase[] {
  return Object.entries(checks).map(([says, check]) => ({ name: `${area}: ${says}`, check, owners: false }));
}

/** Cases with several owners. */
export function ownerCases(
  area: string,
  checks: Readonly<Record<string, OwnersCheck>>,
): readonly StoreCase[] {
  return Object.entries(checks).map(([says, check]) => ({ name: `${area}: ${says}`, check, owners: true }));
}
