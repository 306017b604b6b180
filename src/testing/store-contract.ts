import { adminCases, listCases } from "./admin-cases.ts";
import { causeCases } from "./cause-cases.ts";
import { artifactCases } from "./artifact-cases.ts";
import { blockedCases } from "./blocked-cases.ts";
import { bulkCases } from "./bulk-cases.ts";
import { callCancelCases } from "./call-cancel-cases.ts";
import { callCases } from "./call-cases.ts";
import { callerCases, sharedCallerCases } from "./caller-cases.ts";
import { changeFeedCases, outboxCases } from "./outbox-cases.ts";
import { childInputCases, waitingCases } from "./waiting-cases.ts";
import { createCases, orderCases, quotaCases } from "./create-cases.ts";
import { deleteCases, settleCases, sweepCases } from "./settle-cases.ts";
import { claimCases, turnCases, versionCases } from "./claim-cases.ts";
import { durableCases, forgettingCases, secretCases, textCases } from "./durable-cases.ts";
import { eventCases } from "./event-cases.ts";
import { handlerCases, sharedHandlerCases, lifecycleCases, ownershipCases } from "./owner-cases.ts";
import { historyCases, lineCases, reportCases } from "./history-cases.ts";
import { journalCases } from "./journal-cases.ts";
import { durableSessionCases, messageCases, sessionCases, sharedSessionCases } from "./session-cases.ts";
import { limitCases, sharedLimitCases } from "./limit-cases.ts";
import { reclaimCases } from "./reclaim-cases.ts";
import { loopCases } from "./loop-cases.ts";
import { retryCases } from "./retry-cases.ts";
import { runCase, type StorePlace } from "./store-case.ts";

/** A kind of store to test. */
export interface StoreKind {
  /** Whether a second store in the same place finds what the first one stored. */
  readonly durable: boolean;
  /** Whether several stores may be open in a place at the same time; its places then have `kill`. Default `one`. */
  readonly owners?: "one" | "several";
  /** Creates a new, empty place. */
  place(): Promise<StorePlace>;
}

/** One case of the contract, with its own store. */
export interface ContractCase {
  /** Unique and stable across versions: use it as the title of a test. */
  readonly name: string;
  /**
   * Rejects if the store fails the case, mostly with an `AssertionError` of `node:assert`; its message begins with the rule of the store's
   * interface that the case holds. Calls `skip`, and tests nothing, if the case is about what the store or its kind does not have.
   */
  readonly run: (context: SkipContext) => Promise<void>;
}

/** What a case is told by: the context that vitest and `node:test` pass to each test, or your own object with another runner. */
export interface SkipContext {
  /** Called at most once, at the end of a case. It may throw. */
  skip(reason: string): unknown;
}

const casesOfAll = [
  lifecycleCases,
  createCases,
  quotaCases,
  journalCases,
  historyCases,
  settleCases,
  claimCases,
  turnCases,
  reclaimCases,
  waitingCases,
  blockedCases,
  retryCases,
  loopCases,
  eventCases,
  callCases,
  callCancelCases,
  childInputCases,
  ownershipCases,
  handlerCases,
  sharedHandlerCases,
  callerCases,
  sharedCallerCases,
  listCases,
  secretCases,
  lineCases,
  limitCases,
  sharedLimitCases,
  artifactCases,
  messageCases,
  sessionCases,
  sharedSessionCases,
  sweepCases,
  deleteCases,
  orderCases,
  changeFeedCases,
  textCases,
  versionCases,
  adminCases,
  causeCases,
  bulkCases,
  outboxCases,
  reportCases,
].flat();

const casesOfDurable = [...durableCases, ...durableSessionCases];

/**
 * Everything that every store must do, as plain functions for any test runner. The cases are independent, but run them one after the other:
 * one of them replaces `process.emitWarning` for a moment. Runners show cases as skipped that are about what the store does not have, with the
 * reason: a store without `sessions`, for example, or a kind with one owner at a time.
 *
 * With vitest:
 *
 * ```ts
 * import { mkdtemp, rm } from "node:fs/promises";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { sqliteStore } from "holdfast/sqlite";
 * import { storeContract } from "holdfast/testing";
 * import { describe, test } from "vitest";
 *
 * async function place() {
 *   const folder = await mkdtemp(join(tmpdir(), "holdfast-contract-"));
 *   return {
 *     store: () => sqliteStore(join(folder, "tasks.db")),
 *     kill: (owner: string) => rm(join(folder, "tasks.db.owners", owner)),
 *     remove: () => rm(folder, { recursive: true }),
 *   };
 * }
 *
 * describe("sqlite store", () => {
 *   for (const { name, run } of storeContract({ durable: true, owners: "several", place })) test(name, run);
 * });
 * ```
 *
 * With Node's own runner:
 *
 * ```ts
 * import { test } from "node:test";
 * import { memoryStore } from "holdfast/memory";
 * import { storeContract } from "holdfast/testing";
 *
 * const place = async () => ({ store: memoryStore, remove: async () => undefined });
 *
 * for (const { name, run } of storeContract({ durable: false, place })) void test(name, run);
 * ```
 */
export function storeContract(kind: StoreKind): readonly ContractCase[] {
  const cases = [...casesOfAll, ...(kind.durable ? casesOfDurable : forgettingCases)];
  return cases.map((each) => ({
    name: each.name,
    run: async (context) => {
      const reason =
        each.owners && kind.owners !== "several"
          ? "This kind of store has one owner at a time."
          : await runCase(await kind.place(), each);
      if (reason !== undefined) context.skip(reason);
    },
  }));
}
