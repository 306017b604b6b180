import { createTasks } from "holdfast";
import { connect } from "holdfast/client";
import { memoryStore } from "holdfast/memory";
import { expect, expectTypeOf, it, onTestFinished } from "vitest";
import * as z from "zod";
import * as z3 from "zod/v3";
import { text, unstamped } from "../kit/messages.ts";
import { serve, type Served } from "../kit/server.ts";

const fields = { city: z.string(), days: z.number().default(7), at: z.iso.date().optional() };
const measured = { degrees: z.number(), wind: z.string().optional() };

/** Two tools, which are the same but for the form of their schemas, and a third that calls the first. */
async function forecasts(): Promise<Served> {
  return serve({
    tools: (tasks) => {
      const inFields = tasks.tool(
        "by_fields",
        { inputSchema: fields, outputSchema: measured },
        // @ts-expect-error -- degrees are no text
        ({ city, days, at }) => {
          expectTypeOf(city).toEqualTypeOf<string>();
          expectTypeOf(days).toEqualTypeOf<number>();
          expectTypeOf(at).toEqualTypeOf<string | undefined>();
          return {
            ...text(`${city} ${days}`),
            structuredContent: { degrees: city === "Bern" ? days : "cold" },
          };
        },
      );
      tasks.tool(
        "by_object",
        { inputSchema: z.object(fields), outputSchema: z.object(measured) },
        // @ts-expect-error -- degrees are no text
        ({ city, days }) => ({
          ...text(`${city} ${days}`),
          structuredContent: { degrees: city === "Bern" ? days : "cold" },
        }),
      );
      tasks.tool("calls", {}, async (_args, task) => {
        const { structuredContent } = await task.call("one", inFields, { city: "Bern" });
        expectTypeOf(structuredContent.degrees).toEqualTypeOf<number>();
        // @ts-expect-error -- a city is needed
        const wrong = (): unknown => task.call("two", inFields, { days: 1 });
        void wrong;
        return text(String(structuredContent.degrees));
      });
    },
  });
}

it("takes the fields of an object for its schema [B-005]", async () => {
  const { http } = await forecasts();
  const client = await connect(http.url);
  onTestFinished(async () => client.close());
  const { tools } = await client.sdk.listTools();
  const [byFields, byObject] = ["by_fields", "by_object"].map((name) => {
    const { inputSchema, outputSchema } = tools.find((tool) => tool.name === name) ?? {};
    return { inputSchema, outputSchema };
  });
  expect(byFields?.inputSchema).toMatchObject({ required: ["city"], properties: { days: { default: 7 } } });
  expect(byFields).toEqual(byObject);
  for (const args of [{ city: "Bern" }, { city: "Bern", days: 2 }, { city: 3 }, {}, { city: "Oslo" }]) {
    const right = unstamped(await client.callTool("by_object", args));
    const got = unstamped(await client.callTool("by_fields", args));
    expect(JSON.parse(JSON.stringify(got).replaceAll("by_fields", "by_object"))).toEqual(right);
    expect(got["isError"] === true).toBe(args.city !== "Bern");
  }
  expect(await client.callTool("calls")).toMatchObject(text("7"));
});

it("keeps them when other options are updated, and takes others with their handler", async () => {
  let changes = 0;
  const { http } = await serve({
    tools: (served) => {
      const tool = served.tool("report", { inputSchema: fields }, ({ city }) => text(city));
      served.tool("change", {}, () => {
        changes += 1;
        if (changes === 1) tool.update({ description: "Reports" });
        else
          tool.update({
            inputSchema: { month: z.string() },
            handler: ({ month }) => {
              expectTypeOf(month).toEqualTypeOf<string>();
              return text(month);
            },
          });
        return text("changed");
      });
    },
  });
  const client = await connect(http.url);
  onTestFinished(async () => client.close());
  await client.callTool("change");
  expect(await client.callTool("report", { city: "Bern" })).toMatchObject(text("Bern"));
  await client.callTool("change");
  expect(await client.callTool("report", { month: "May" })).toMatchObject(text("May"));
  expect(await client.callTool("report", { city: "Bern" })).toMatchObject({ isError: true });
});

it("says of fields that are none what is wrong", () => {
  const tasks = createTasks({ store: memoryStore() });
  const add = (inputSchema: object) => () =>
    tasks.tool("report", { inputSchema: inputSchema as typeof fields }, () => text("never run"));
  const form =
    "a Standard Schema, such as z.object({ … }) or fromJsonSchema({ … }) of the SDK, or its fields, such as { month: z.string() }";
  for (const [given, told] of [
    [{ type: "object" }, `Tool "report": inputSchema must be ${form}, not an object.`],
    [{ month: z.string(), type: "string" }, `inputSchema must be ${form}`],
    [[z.string()], `inputSchema must be ${form}`],
    [{ month: z3.string() }, 'Tool "report": a schema by its fields needs fields of zod 4'],
    [
      z3.object({ month: z3.string() }),
      'Tool "report": inputSchema has no JSON form; use a library with one',
    ],
  ] as const)
    expect(add(given)).toThrow(
      expect.objectContaining({ code: "configuration", message: expect.stringContaining(told) }),
    );
});
