import { completable, McpServer } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import * as z from "zod";
import { expectReport, revisions, serveBeside } from "./beside-tasks.ts";

const people: Readonly<Record<string, readonly string[]>> = { sales: ["Ann", "Anton"], legal: ["Ada"] };

function office(): McpServer {
  const mcp = new McpServer({ name: "office", version: "1.0.0" });
  const team = completable(z.string().describe("Which team"), (begun) =>
    Object.keys(people).filter((name) => name.startsWith(begun)),
  );
  const person = completable(z.string(), (begun, context) =>
    (people[context?.arguments?.["team"] ?? ""] ?? []).filter((name) => name.startsWith(begun)),
  );
  mcp.registerPrompt(
    "greet",
    { title: "Greet", description: "Greets somebody", argsSchema: { team, person } },
    ({ team: of, person: name }) => ({
      messages: [
        { role: "user", content: { type: "text", text: `Greet ${name} of ${of}.` } },
        { role: "assistant", content: { type: "text", text: `Dear ${name},` } },
      ],
    }),
  );
  mcp.registerPrompt("sum_up", { title: "Sum up" }, () => ({
    messages: [{ role: "user", content: { type: "text", text: "Sum up." } }],
  }));
  return mcp;
}

it.each(revisions)(
  "lists prompts with their arguments, and gets them, on %s [B-004 B-020]",
  async (revision) => {
    const client = await (await serveBeside(office)).connect(revision);
    const { prompts } = await client.sdk.listPrompts();
    expect(prompts).toMatchObject([
      {
        name: "greet",
        title: "Greet",
        description: "Greets somebody",
        arguments: [
          { name: "team", description: "Which team", required: true },
          { name: "person", required: true },
        ],
      },
      { name: "sum_up", title: "Sum up" },
    ]);
    const { messages } = await client.getPrompt("greet", { team: "sales", person: "Ann" });
    expect(messages).toEqual([
      { role: "user", content: { type: "text", text: "Greet Ann of sales." } },
      { role: "assistant", content: { type: "text", text: "Dear Ann," } },
    ]);
    expect((await client.getPrompt("sum_up")).messages).toHaveLength(1);
    await expectReport(client);
  },
);

it.each(revisions)("refuses a prompt without an argument that it needs, on %s [B-021]", async (revision) => {
  const client = await (await serveBeside(office)).connect(revision);
  const refused = client.getPrompt("greet", { team: "sales" });
  await expect(refused).rejects.toMatchObject({ code: "rpc", error: { code: -32602 } });
  await expect(client.getPrompt("none")).rejects.toMatchObject({ code: "rpc", error: { code: -32602 } });
  await expectReport(client);
});

it.each(revisions)(
  "completes arguments by those that are filled in, on %s [B-022 B-023]",
  async (revision) => {
    const client = await (await serveBeside(office)).connect(revision);
    const ref = { type: "ref/prompt" as const, name: "greet" };
    const team = await client.sdk.complete({ ref, argument: { name: "team", value: "s" } });
    expect(team.completion).toMatchObject({ values: ["sales"], hasMore: false });
    for (const [filled, values] of [
      ["sales", ["Ann", "Anton"]],
      ["legal", []],
    ] as const) {
      const context = { arguments: { team: filled } };
      const { completion } = await client.sdk.complete({
        ref,
        argument: { name: "person", value: "An" },
        context,
      });
      expect(completion.values).toEqual(values);
    }
    await expectReport(client);
  },
);
