import { expect, expectTypeOf, it } from "vitest";
import * as z from "zod";
import { Registry } from "../../src/runtime/tool/registry.ts";
import { toolAtVersion } from "../../src/runtime/tool/tool-config.ts";
import { text } from "./harness.ts";

const month = z.object({ month: z.string() });
const range = z.object({ from: z.string(), days: z.number().default(31) });

function added(config: object, handler: unknown = () => text("now")): Registry {
  const registry = new Registry();
  registry.add("report", config, handler as () => never);
  return registry;
}

it("infers the arguments of each version from its own schema", () => {
  const registry = new Registry();
  registry.add(
    "report",
    {
      version: 3,
      inputSchema: range,
      prepare: ({ days }) => ({ weeks: days / 7 }),
      olderVersions: {
        1: {
          inputSchema: month,
          prepare: (args) => args.month,
          handler: (args, task) => {
            expectTypeOf(args).toEqualTypeOf<{ month: string }>();
            expectTypeOf(task.prepared).toBeUnknown();
            return text(args.month);
          },
        },
        2: {
          handler: async (args) => {
            expectTypeOf(args).toEqualTypeOf<Record<string, unknown>>();
            return text(String(args["month"]));
          },
        },
      },
    },
    (args, task) => {
      expectTypeOf(args).toEqualTypeOf<{ from: string; days: number }>();
      expectTypeOf(task.prepared).toEqualTypeOf<{ weeks: number }>();
      return text(args.from);
    },
  );
  registry.add(
    "other",
    // @ts-expect-error -- the schema of the version has no such argument
    { version: 2, olderVersions: { 1: { inputSchema: month, handler: ({ days }) => text(String(days)) } } },
    () => text(""),
  );
});

it("finds what runs a task of each version", () => {
  const handler = (): never => text("first") as never;
  const older = { 1: { inputSchema: month, handler } };
  const tool = added({ version: 3, inputSchema: range, outputSchema: range, olderVersions: older }).get(
    "report",
  );
  if (tool === undefined) throw new Error("It was added just now.");
  const first = toolAtVersion(tool, 1);
  expect(first).toMatchObject({ name: "report", version: 1, onCrash: "auto", inputSchema: month, handler });
  expect(first).not.toHaveProperty("outputSchema");
  // No handler is kept for it, so that the present one goes on with it.
  expect(toolAtVersion(tool, 2)).toBe(tool);
  expect(toolAtVersion(tool, 3)).toBe(tool);
  expect(toolAtVersion(tool, 4)).toBeUndefined();
});

const handler = (): unknown => text("");
it.each([
  [{ version: 0 }, 'Tool "report": version must be a whole number of at least 1, not '],
  [{ version: "2" }, 'Tool "report": version must be a whole number of at least 1, not '],
  [
    { olderVersions: { 1: { handler } } },
    'olderVersions of tool "report": version 1 must be a whole number of at least 1 and below the tool\'s version, which is 1.',
  ],
  [
    { version: 3, olderVersions: { first: { handler } } },
    'olderVersions of tool "report": version first must be a whole number',
  ],
  [
    { version: 2, olderVersions: { 1: {} } },
    'olderVersions of tool "report": version 1 needs handler: a function.',
  ],
  [
    { version: 2, olderVersions: { 1: { handler, inputShema: month } } },
    'olderVersions of tool "report": version 1 has no option "inputShema". Did you mean inputSchema?',
  ],
  [
    { version: 2, olderVersions: { 1: { handler, inputSchema: { type: "object" } } } },
    'olderVersions of tool "report": version 1: inputSchema must be a Standard Schema, such as z.object({ … })',
  ],
  [{ version: 2, olderVersions: { 1: handler } }, "takes its options as an object, not a function."],
  [
    { version: 2, olderVersions: [] },
    "olderVersions must be an object: { 1: { inputSchema, handler } }, not [].",
  ],
])("refuses %j", (config, problem) => {
  expect(() => added(config)).toThrow(expect.objectContaining({ code: "configuration" }));
  expect(() => added(config)).toThrow(problem);
});
