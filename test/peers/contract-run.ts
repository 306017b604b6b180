// Holds one of our stores to the contract of all stores: contract-run.ts memory|sqlite EVERY. Runs each case whose number EVERY divides, and
// prints what became of them as JSON.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memoryStore } from "holdfast/memory";
import { sqliteStore } from "holdfast/sqlite";
import { storeContract } from "holdfast/testing";

/** How the cases ended. */
export interface ContractRun {
  readonly passed: number;
  readonly failed: readonly string[];
  readonly skipped: readonly string[];
}

async function folder() {
  const path = await mkdtemp(join(tmpdir(), "holdfast-contract-"));
  return {
    store: () => sqliteStore(join(path, "tasks.db")),
    kill: (owner: string) => rm(join(path, "tasks.db.owners", owner)),
    remove: () => rm(path, { recursive: true }),
  };
}

const memory = async () => ({ store: memoryStore, remove: async () => undefined });

const [kind = "", every = ""] = process.argv.slice(2);
const contract =
  kind === "sqlite"
    ? storeContract({ durable: true, owners: "several", place: folder })
    : storeContract({ durable: false, place: memory });
const failed: string[] = [];
const skipped: string[] = [];
let passed = 0;
for (const [index, { run }] of contract.entries()) {
  if (index % Number(every) !== 0) continue;
  const before = failed.length + skipped.length;
  await run({ skip: (reason) => skipped.push(reason) }).catch((error: unknown) => failed.push(String(error)));
  if (failed.length + skipped.length === before) passed++;
}
process.stdout.write(JSON.stringify({ passed, failed, skipped } satisfies ContractRun));
