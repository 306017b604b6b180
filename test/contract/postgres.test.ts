import { postgresStore } from "holdfast/postgres";
import { storeContract } from "holdfast/testing";
import { afterAll, beforeAll, describe, test } from "vitest";
import { EmptiedSchemas } from "../postgres/emptied-schemas.ts";
import { nothingSkipped } from "./nothing-skipped.ts";

let schemas: EmptiedSchemas;
beforeAll(async () => {
  schemas = await EmptiedSchemas.inSharedDatabase();
});
afterAll(() => schemas[Symbol.asyncDispose]());

async function place() {
  const { url } = schemas;
  const schema = schemas.take();
  return {
    store: () => postgresStore(url, { schema }),
    kill: (owner: string) => schemas.endLease(schema, owner),
    remove: () => schemas.giveBack(schema),
  };
}

describe("postgres store", () => {
  for (const { name, run } of storeContract({ durable: true, owners: "several", place }))
    test(name, () => run(nothingSkipped));
});
