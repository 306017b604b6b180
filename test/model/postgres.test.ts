import * as fc from "fast-check";
import { postgresStore } from "holdfast/postgres";
import { afterAll, beforeAll, test } from "vitest";
import { EmptiedSchemas } from "../postgres/emptied-schemas.ts";
import { follow } from "./follow.ts";
import { modelRuns, modelTimeoutMs } from "./model-runs.ts";
import { arbitraryMoves } from "./moves.ts";
import { StoreSubject } from "./store-subject.ts";

/** Nobody renews a lease here. */
const leaseMs = 3_600_000;

let schemas: EmptiedSchemas;
beforeAll(async () => {
  schemas = await EmptiedSchemas.inSharedDatabase();
});
afterAll(() => schemas[Symbol.asyncDispose]());

test("Postgres stores of one schema do what the model does", { timeout: modelTimeoutMs }, async () => {
  const property = fc.asyncProperty(arbitraryMoves(60), async (moves) => {
    const schema = schemas.take();
    const place = {
      open: (id: string, handlers: Parameters<typeof StoreSubject.open>[2]) =>
        StoreSubject.open(postgresStore(schemas.url, { schema, leaseMs }), id, handlers, false),
      kill: (id: string) => schemas.endLease(schema, id),
      outlivesKill: true,
      revives: true,
      wholeGroups: false,
    };
    try {
      await follow(place, moves);
    } finally {
      await schemas.giveBack(schema);
    }
  });
  await fc.assert(property, modelRuns(6));
});
