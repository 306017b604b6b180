import * as fc from "fast-check";
import type { HandlerName } from "../../src/task/queue.ts";
import {
  arbitraryCommand,
  arbitraryHandlers,
  arbitraryLook,
  arbitraryTaskCommand,
} from "./arbitrary-command.ts";
import { arbitraryCall } from "./arbitrary-call.ts";
import { arbitraryEvents } from "./arbitrary-events.ts";
import { arbitraryWait } from "./arbitrary-wait.ts";
import type { StoreCommand } from "./model.ts";
import type { Look } from "./view.ts";

type Commands = readonly StoreCommand[];

/** What owners do next. A number picks one of those that there are. */
export type Act =
  /** One write or several at once. */
  | { readonly do: "write"; readonly by: number; readonly commands: Commands }
  /** Two owners write at the same time. */
  | { readonly do: "race"; readonly by: number; readonly commands: readonly [Commands, Commands] }
  | { readonly do: "join"; readonly handlers: readonly HandlerName[] }
  | { readonly do: "close"; readonly which: number }
  /** The owner ends without closing its store, or is taken for dead. */
  | { readonly do: "kill"; readonly which: number }
  /** All end, and one begins anew. */
  | { readonly do: "restart"; readonly handlers: readonly HandlerName[] }
  | { readonly do: "renew"; readonly by: number }
  /** The owner reclaims, in pages, what others left that are gone, and that may write late. */
  | {
      readonly do: "take_over";
      readonly by: number;
      readonly page: number;
      readonly now: number;
      readonly late: Commands;
    }
  /** Everybody who lives hears what was told. */
  | { readonly do: "hear" };

/** An act; then all look at everything. */
export interface Move {
  readonly act: Act;
  readonly look: Look;
}

const which = fc.nat({ max: 11 });
const by = which;
const one = fc.tuple(arbitraryCommand);
const group = fc.array(arbitraryCommand, { minLength: 2, maxLength: 8, size: "max" });
const few = fc.array(arbitraryTaskCommand, { minLength: 1, maxLength: 3, size: "max" });

const acts: { readonly [D in Act["do"]]: fc.Arbitrary<Act & { readonly do: D }> } = {
  write: fc.record({
    do: fc.constant("write"),
    by,
    commands: fc.oneof(one, one, group, group, arbitraryWait, arbitraryCall, arbitraryEvents),
  }),
  race: fc.record({ do: fc.constant("race"), by, commands: fc.tuple(few, few) }),
  join: fc.record({ do: fc.constant("join"), handlers: arbitraryHandlers }),
  close: fc.record({ do: fc.constant("close"), which }),
  kill: fc.record({ do: fc.constant("kill"), which }),
  restart: fc.record({ do: fc.constant("restart"), handlers: arbitraryHandlers }),
  renew: fc.record({ do: fc.constant("renew"), by }),
  take_over: fc.record({
    do: fc.constant("take_over"),
    by,
    page: fc.constantFrom(1, 2, 9),
    now: fc.integer({ min: 0, max: 60 }),
    late: few,
  }),
  hear: fc.record({ do: fc.constant("hear") }),
};

const weights: Readonly<Record<Act["do"], number>> = {
  write: 40,
  race: 6,
  join: 8,
  close: 1,
  kill: 5,
  restart: 1,
  renew: 2,
  take_over: 5,
  hear: 3,
};

const arbitraryAct = fc.oneof(
  ...Object.values(acts).map((arbitrary, index) => ({
    weight: Object.values(weights)[index] ?? 1,
    arbitrary: arbitrary as fc.Arbitrary<Act>,
  })),
);

export function arbitraryMoves(maxLength: number): fc.Arbitrary<Move[]> {
  const move = fc.record({ act: arbitraryAct, look: arbitraryLook });
  return fc.array(move, { minLength: 1, maxLength, size: "max" });
}
