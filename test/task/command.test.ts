import { expect, expectTypeOf, test } from "vitest";
import type { BulkCommands, StartCommands } from "../../src/task/bulk.ts";
import type { TaskCommandName } from "../../src/task/command.ts";
import type { DeliveryCommands } from "../../src/task/delivery.ts";
import { transitions, type TaskEvent } from "../../src/task/transition.ts";
import { sourceFiles } from "../source-files.ts";

/** Commands that are no event: they insert a task, start some, delete some, or are about finished ones, callers or the store. */
const aboutNoTask = [
  "create",
  "claim",
  "delete_expired",
  "release_key",
  "retrieve",
  "extend",
  "delete",
  "keep_secret",
  "replace_secret",
  "rekey",
  "join",
  "leave",
] as const;
/** Events that no command is: what a command about a task does to those around it. */
const aboutOthers = ["end_call", "count_inputs"] as const;
type AboutATask = Exclude<
  TaskCommandName,
  (typeof aboutNoTask)[number] | keyof DeliveryCommands | keyof BulkCommands | keyof StartCommands
>;

test("every command about a task is an event of the table, and the other way round", async () => {
  // To the compiler …
  expectTypeOf<AboutATask | (typeof aboutOthers)[number]>().toEqualTypeOf<TaskEvent>();
  // … and to who runs the tests: types are gone by then, so the names come from the source.
  const files = [...(await sourceFiles("src/task", [".ts"])).values()].join("\n");
  const [, blocks = ""] = /interface BlockCommands \{\n([^]*?)\n\}/.exec(files) ?? [];
  const [, loops = ""] = /interface LoopCommands \{\n([^]*?)\n\}/.exec(files) ?? [];
  const [, others = ""] = /interface TaskCommands\s+extends [\w, ]+ \{\n([^]*?)\n\}/.exec(files) ?? [];
  const body = `${blocks}\n${loops}\n${others}`;
  const names = [...body.matchAll(/^ {2}(\w+):/gm)].map(([, name = ""]) => name);
  expect([...names, ...aboutOthers].sort()).toEqual([...Object.keys(transitions), ...aboutNoTask].sort());
});
