import * as fc from "fast-check";
import type { TaskCommand } from "../../src/task/command.ts";
import { commandOf } from "./arbitrary-command.ts";
import { arbitraryId } from "./arbitrary-task.ts";

const token = "t1";
const of = fc.oneof(
  commandOf("send_event"),
  commandOf("send_event"),
  commandOf("wait_event"),
  commandOf("wait_event"),
  commandOf("close_wait"),
  commandOf("park"),
  commandOf("start"),
);

/** A task that runs, with events for it and waits for them, in whichever order. */
export const arbitraryEvents: fc.Arbitrary<readonly TaskCommand[]> = fc
  .record({
    id: arbitraryId,
    create: commandOf("create"),
    events: fc.array(of, { minLength: 3, maxLength: 8, size: "max" }),
  })
  .map(({ id, create, events }) => [
    { ...create, task: { ...create.task, id }, token },
    ...events.map((each) => ("token" in each ? { ...each, id, token } : { ...each, id })),
  ]);
