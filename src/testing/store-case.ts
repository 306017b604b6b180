import assert from "node:assert/strict";
import type { TaskStore } from "../store/store.ts";
import { aHandler } from "./sample-task.ts";
import { HoldfastError, type FaultCode } from "../task/fault.ts";
import { storeRules, type PartOf, type StoreArea, type StorePart, type StoreRule } from "./store-rules.ts";

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

type Parts = { readonly [Name in StorePart]-?: NonNullable<TaskStore[Name]> };

/** A store that has these optional parts. */
type StoreWith<P extends StorePart> = TaskStore & Pick<Parts, P>;

/** An open store and its owner. */
interface OpenStore<P extends StorePart> {
  readonly store: StoreWith<P>;
  readonly owner: string;
}

/** What a case works with. */
export interface StoreUnderTest<P extends StorePart = never> {
  /** Open and empty, for the owner `owner-1`. */
  readonly store: StoreWith<P>;
  /** Another store in the same place, not open yet. */
  readonly another: () => StoreWith<P>;
  /** Closes the open stores, and opens another one in the same place. */
  readonly reopen: () => Promise<StoreWith<P>>;
}

/** What a case with several owners works with. */
export interface StoresUnderTest<P extends StorePart = never> extends StoreUnderTest<P> {
  /** Opens another store in the same place, for an owner that can publish reports. */
  readonly join: () => Promise<OpenStore<P>>;
  readonly kill: (owner: string) => Promise<void>;
}

export type Check<P extends StorePart = never> = (under: StoreUnderTest<P>) => Promise<void>;

type OwnersCheck<P extends StorePart> = (under: StoresUnderTest<P>) => Promise<void>;

/** Checks of any area, each called only with a store that has its part. */
type AnyChecks = Readonly<Record<string, OwnersCheck<StorePart>>>;

/** Something that every store must do. `check` rejects if the store does not. */
export interface StoreCase {
  readonly name: string;
  readonly rule: StoreRule;
  readonly check: OwnersCheck<StorePart>;
  /** True for a case that needs several owners. */
  readonly owners: boolean;
}

/** Cases about one area, by their titles. */
export function storeCases<A extends StoreArea>(
  area: A,
  checks: Readonly<Record<string, Check<PartOf<A>>>>,
): readonly StoreCase[] {
  return casesOf(area, checks, false);
}

/** Cases with several owners. */
export function ownerCases<A extends StoreArea>(
  area: A,
  checks: Readonly<Record<string, OwnersCheck<PartOf<A>>>>,
): readonly StoreCase[] {
  return casesOf(area, checks, true);
}

function casesOf(area: StoreArea, checks: AnyChecks, owners: boolean): readonly StoreCase[] {
  const rule = storeRules[area];
  return Object.entries(checks).map(([says, check]) => ({ name: `${area}: ${says}`, rule, check, owners }));
}

/** Runs one case on its own store, and cleans up. Resolves with why the case was skipped, or undefined. */
export async function runCase(
  place: StorePlace,
  { name, rule, check }: StoreCase,
): Promise<string | undefined> {
  const stores: TaskStore[] = [];
  let owners = 0;
  const another = (): StoreWith<StorePart> => {
    const store = place.store();
    stores.push(store);
    return store as StoreWith<StorePart>;
  };
  const closeAll = async (): Promise<void> => {
    for (const store of stores) await store.close();
  };
  const join = async (): Promise<OpenStore<StorePart>> => {
    const store = another();
    const owner = `owner-${++owners}`;
    await store.open({ id: owner, handlers: [aHandler] });
    return { store, owner };
  };
  const reopen = async (): Promise<StoreWith<StorePart>> => {
    await closeAll();
    return (await join()).store;
  };
  const kill = async (owner: string): Promise<void> => place.kill?.(owner);
  try {
    const { store } = await join();
    if (rule.part !== undefined && (store as TaskStore)[rule.part] === undefined)
      return `The store has no \`${rule.part}\`.`;
    await check({ store, another, reopen, join, kill });
    return undefined;
  } catch (error) {
    throw broken(name, rule, error);
  } finally {
    await closeAll();
    await place.remove();
  }
}

/** The same error, whose message begins with the case and its rule; runners still show what it compared. */
function broken(name: string, { of, says }: StoreRule, cause: unknown): Error {
  const error = cause instanceof Error ? cause : new Error(String(cause));
  const { message, stack } = error;
  error.message = `The store breaks a rule of ${of}: "${says}"\nThe case: ${name}\n\n${message}`;
  if (stack !== undefined) error.stack = stack.replace(message, () => error.message);
  return error;
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
