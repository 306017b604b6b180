import * as fc from "fast-check";
import type { TaskCommand } from "../../src/task/command.ts";
import { arbitraryTaskCommand, commandOf } from "./arbitrary-command.ts";

const token = "t1";
/** Of a task, of one that it calls, and of one that this calls. */
const line = ["a", "e", "f"] as const;
const last = fc.oneof(
  ...(["settle", "settle", "cancel", "expire", "request_cancel", "answer_inputs", "close_wait"] as const).map(
    (name) => commandOf(name),
  ),
  ...(["retry", "park", "claim", "send_event", "call_tool"] as const).map((name) => commandOf(name)),
  arbitraryTaskCommand,
);
const own = fc.oneof(commandOf("open_input"), commandOf("wait_event"), commandOf("mark"), commandOf("sleep"));

/** A task that calls others, which ask and wait, with what may come then: random commands alone seldom come so far. */
export const arbitraryCall: fc.Arbitrary<readonly TaskCommand[]> = fc
  .record({
    create: commandOf("create"),
    calls: fc.array(commandOf("call_tool"), { minLength: 1, maxLength: 2, size: "max" }),
    start: commandOf("start"),
    does: fc.array(fc.tuple(own, fc.constantFrom(...line)), { maxLength: 4, size: "max" }),
    leaves: fc.option(fc.oneof(commandOf("park"), commandOf("release"))),
    come: fc.array(fc.tuple(last, fc.constantFrom(...line)), { minLength: 1, maxLength: 5, size: "max" }),
  })
  .map(({ create, calls, start, does, leaves, come }) => [
    { ...create, task: { ...create.task, id: line[0] }, token },
    ...calls.flatMap((call, index) => {
      const [id = line[0], below = line[1]] = line.slice(index);
      const child = { ...call.child, id: below, wireId: below };
      return [
        { ...call, id, token, child },
        { ...start, id: below, token },
      ];
    }),
    ...does.map(([each, id]) => ({ ...each, id, token })),
    ...(leaves === null ? [] : [{ ...leaves, id: line[0], token }]),
    ...come.map(([each, id]) => (isAboutOne(each) ? { ...each, id } : each)),
  ]);

function isAboutOne(command: TaskCommand): command is Extract<TaskCommand, { readonly id: string }> {
  return "id" in command;
}
