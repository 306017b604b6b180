import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "holdfast/client";
import { expect, it } from "vitest";
import { newFolder, serveExample } from "../../docs/example-process.ts";

it("serves all of them, and asks itself as another agent", async () => {
  const folder = await newFolder();
  const server = await serveExample("use-cases/server.ts", folder);
  const client = await connect(server.url, {
    capabilities: { elicitation: { form: {} } },
    onInput: async ({ method, params }) => {
      if (method !== "elicitation/create") throw new Error(method);
      const approves = "requestedSchema" in params && "approver" in params.requestedSchema.properties;
      const content = approves ? { approver: "Grace", role: "engineer" } : { topic: "mercury-metal.md" };
      return { action: "accept" as const, content };
    },
  });
  const { tools } = await client.sdk.listTools();
  expect(tools.map(({ name }) => name)).toEqual(
    expect.arrayContaining([
      "screen_library",
      "onboard",
      "migrate_package",
      "run_tests",
      "research",
      "ask_agent",
    ]),
  );
  const [screened, onboarded, asked] = await Promise.all([
    client.callTool("screen_library", {
      library: "analgesics",
      reference: "CN1CCC23C4Oc5c2c(CC1C3C=CC4O)ccc5O",
    }),
    client.callTool("onboard", { person: "Ada", role: "engineer" }),
    client.callTool("ask_agent", { agent: "researcher", question: "How hot does mercury get?" }),
  ]);
  expect(screened.content).toMatchObject([{ text: expect.stringContaining("morphine 1.00") }]);
  expect(onboarded.structuredContent).toMatchObject({ approvedBy: "Grace" });
  expect(await readFile(join(folder, "payroll.json"), "utf8")).toContain('"person": "Ada"');
  expect(asked.content).toMatchObject([{ text: expect.stringContaining("[1] When mercury gets hot") }, {}]);
  await client.close();
  expect(await server.stop()).toEqual([0, null]);
});
