import { setImmediate as nextTurn } from "node:timers/promises";
import { McpServer, type ToolAnnotations } from "@modelcontextprotocol/server";
import { durable, type TaskMode, type TaskSettings } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished } from "vitest";
import { text } from "../runtime/harness.ts";

/** The tools whose registration warns of a crash, in the order of the warnings. */
async function warnedAbout(
  configs: Readonly<
    Record<string, { readonly task?: TaskSettings | TaskMode; readonly annotations?: ToolAnnotations }>
  >,
): Promise<readonly string[]> {
  const tools: string[] = [];
  const onWarning = ({ name, message }: Error): void => {
    const [, tool] = /handler of tool "(.*)" runs .* set task: \{ onCrash: "resume" \}/.exec(message) ?? [];
    if (name === "HoldfastWarning" && tool !== undefined) tools.push(tool);
  };
  process.on("warning", onWarning);
  onTestFinished(() => void process.off("warning", onWarning));
  const make = (): McpServer => {
    const server = new McpServer({ name: "reports", version: "1.0.0" });
    for (const [name, config] of Object.entries(configs)) {
      server.registerTool(name, config as never, () => text("done"));
    }
    return server;
  };
  const server = durable(make, { store: memoryStore() });
  await server.start();
  await server.stop();
  await nextTurn();
  return tools;
}

it("warns once of a tool that does not say what a crash does to its handler, and how to choose", async () => {
  expect(
    await warnedAbout({
      undecided: { task: "optional" },
      required: { task: "required", annotations: { destructiveHint: true } },
      resumed: { task: { onCrash: "resume" } },
      kept: { task: { onCrash: "auto" } },
      failed: { task: { onCrash: "fail" } },
      retried: { task: { retry: { attempts: 3 } } },
      idempotent: { task: "optional", annotations: { idempotentHint: true } },
      reading: { task: "optional", annotations: { readOnlyHint: true } },
      plain: {},
    }),
  ).toEqual(["undecided", "required"]);
});
