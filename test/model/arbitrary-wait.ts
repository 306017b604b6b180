import * as fc from "fast-check";
import type { TaskCommand } from "../../src/task/command.ts";
import { arbitraryTaskCommand, commandOf } from "./arbitrary-command.ts";
import { arbitraryId } from "./arbitrary-task.ts";

const held = "t1";
const last = fc.oneof(
  commandOf("answer_inputs"),
  commandOf("request_cancel"),
  commandOf("wake"),
  commandOf("claim"),
  arbitraryTaskCommand,
);

/** A task that runs, comes to wait, and is given up, with what may come for it then: random commands alone seldom come so far. */
export const arbitraryWait: fc.Arbitrary<readonly TaskCommand[]> = fc
  .record({
    id: arbitraryId,
    create: commandOf("create"),
    waits: fc.array(fc.oneof(commandOf("open_input"), commandOf("sleep"), commandOf("mark")), {
      minLength: 1,
      maxLength: 3,
      size: "max",
    }),
    leaves: fc.oneof(commandOf("park"), commandOf("release")),
    come: fc.array(last, { maxLength: 3, size: "max" }),
  })
  .map(({ id, create, waits, leaves, come }) => [
    { ...create, task: { ...create.task, id }, token: held },
    ...waits.map((each) => ({ ...each, id, token: held })),
    { ...leaves, id, token: held },
    ...come.map((each) =>
      each.type === "answer_inputs" || each.type === "request_cancel" ? { ...each, id } : each,
    ),
  ]);
