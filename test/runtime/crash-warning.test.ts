import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import type { TaskContext } from "../../src/runtime/tool/task-context.ts";
import type { ToolConfig } from "../../src/runtime/tool/tool.ts";
import { Process, text, type Handler } from "./harness.ts";

/** The tools that are warned about when each of them runs twice, in the order of the warnings. */
async function warnedAbout(
  tools: Readonly<
    Record<
      string,
      ToolConfig<undefined> & { readonly ms?: number; readonly before?: (task: TaskContext) => unknown }
    >
  >,
): Promise<readonly string[]> {
  const warned: string[] = [];
  const onWarning = ({ name, message }: Error): void => {
    const [, tool] =
      /^The handler of tool "(.*)" worked .* without a step\..* set onCrash: "resume"/.exec(message) ?? [];
    if (name === "HoldfastWarning" && tool !== undefined) warned.push(tool);
  };
  process.on("warning", onWarning);
  onTestFinished(() => void process.off("warning", onWarning));
  const own = await Process.started({
    tools: Object.fromEntries(
      Object.entries(tools).map(([name, { ms = 10_000, before, ...config }]) => {
        const handler: Handler = async (_, task) => {
          await before?.(task);
          await own.clock.advance(ms);
          return text("done");
        };
        return [name, { config, handler }];
      }),
    ),
  });
  for (const name of [...Object.keys(tools), ...Object.keys(tools)]) await own.ended(await own.callId(name));
  await nextTurn();
  return warned;
}

it("warns once of a tool whose handler works long without an entry, unless its author has said what a crash does", async () => {
  const fails = (): never => {
    throw new Error("no");
  };
  expect(
    await warnedAbout({
      long: {},
      short: { ms: 9_999 },
      "with a step": { before: (task) => task.step("one", () => 1) },
      "with a file": { before: (task) => task.artifact("one", "1") },
      "that fails": { before: fails },
      resumed: { onCrash: "resume" },
      kept: { onCrash: "auto" },
      failed: { onCrash: "fail" },
      retried: { retry: { attempts: 3 } },
      idempotent: { annotations: { idempotentHint: true } },
      reading: { annotations: { readOnlyHint: true } },
      destructive: { annotations: { destructiveHint: true } },
    }),
  ).toEqual(["long", "destructive"]);
});
