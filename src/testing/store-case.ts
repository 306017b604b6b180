import assert from "node:assert/strict";
import type { TaskStore } from "../store/store.ts";
import { aHandler } from "./sample-task.ts";
import { HoldfastError, type FaultCode } from "../task/fault.ts";

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
interface OpenStore {
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

/** Runs one case on its own store, and cleans up. */
export async function runCase(place: StorePlace, { check }: StoreCase): Promise<void> {
  const stores: TaskStore[] = [];
  let owners = 0;
  const another = (): TaskStore => {
    const store = place.store();
    stores.push(store);
    return store;
  };
  const closeAll = async (): Promise<void> => {
    for (const store of stores) await store.close();
  };
  const join = async (): Promise<OpenStore> => {
    const store = another();
    const owner = `owner-${++owners}`;
    await store.open({ id: owner, handlers: [aHandler] });
    return { store, owner };
  };
  const reopen = async (): Promise<TaskStore> => {
    await closeAll();
    return (await join()).store;
  };
  const kill = async (owner: string): Promise<void> => place.kill?.(owner);
  try {
    await check({ store: (await join()).store, another, reopen, join, kill });
  } finally {
    await closeAll();
    await place.remove();
  }
}

/**
 * Asserts that `actual` has the members that `expected` names, at every depth. Arrays must have the same length; anything but an object
 * must be equal. (Node's own `partialDeepStrictEqual` is experimental in Node 22.)
 */
export function assertMembers(actual: unknown, expected: unknown): void {
  assert.deepStrictEqual(onlyMembersOf(expected, actual), expected);
}

/** `actual` without the members that `expected` lacks, so that a failure shows only what matters. */
function onlyMembersOf(expected: unknown, actual: unknown): unknown {
  if (isArray(expected) && isArray(actual)) {
    return actual.map((element, index) =>
      index in expected ? onlyMembersOf(expected[index], element) : element,
    );
  }
  if (!isObject(expected) || !isObject(actual) || isArray(actual)) return actual;
  const named = Object.keys(expected).filter((name) => Object.hasOwn(actual, name));
  return Object.fromEntries(named.map((name) => [name, onlyMembersOf(expected[name], actual[name])]));
}

function isArray(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

/** Asserts that `call` rejects with a `HoldfastError` of this code. */
export async function assertRejects(call: () => Promise<unknown>, code: FaultCode): Promise<void> {
  await assert.rejects(call, (error) => {
    assert.ok(error instanceof HoldfastError, `expected a HoldfastError, and not ${String(error)}`);
    assert.equal(error.code, code);
    return true;
  });
}
