import * as fc from "fast-check";
import type { Turns } from "../../src/task/queue.ts";
import { handlers } from "./view.ts";

const [x, y] = handlers;
export const version = fc.constantFrom(1, 2);

/** How a handler claims: mostly without a limit. */
export const claimed = fc.record(
  { priority: fc.constantFrom(0, 0, 1), concurrency: fc.constantFrom(1, 2), version },
  { requiredKeys: [] },
);
const hadTurn = fc.constantFrom("", "ann", "bob", "cy");
const lane = fc.constantFrom("woken" as const, "new" as const, "recovered" as const);
export const turns: fc.Arbitrary<Turns> = fc.record({
  rounds: fc.uniqueArray(fc.record({ priority: fc.constantFrom(0, 0, 1), principal: hadTurn, lane }), {
    selector: ({ priority }) => priority,
    maxLength: 2,
  }),
  limited: fc.uniqueArray(
    fc.tuple(fc.constantFrom(x, y), hadTurn).map(([handler, principal]) => ({ ...handler, principal })),
    { selector: ({ tool }) => tool, maxLength: 2 },
  ),
});
