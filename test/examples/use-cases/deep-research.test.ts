import { testTasks, type TestOptions, type TestTasks } from "holdfast/testing";
import { describe, expect, it } from "vitest";
import { Corpus } from "../../../examples/use-cases/corpus.ts";
import { addDeepResearch, corpusServer } from "../../../examples/use-cases/deep-research.ts";
import { example } from "../../docs/example-process.ts";

const corpus = await Corpus.read(example("use-cases/corpus"));
const ambiguous = { question: "How hot does mercury get?" };
const written = {
  role: "assistant" as const,
  model: "m",
  content: { type: "text" as const, text: "Hot [1]." },
};
const topic = (name: string) => ({ action: "accept" as const, content: { topic: name } });

function researching(options: TestOptions = {}): Promise<TestTasks> {
  const server = () => corpusServer(corpus);
  return testTasks((tasks) => addDeepResearch(tasks, corpus), { server, ...options });
}

interface Report {
  readonly report: string;
  readonly sources: readonly { readonly uri: string; readonly quote: string }[];
}

const documentsOf = (report: unknown): string[] => [
  ...new Set((report as Report).sources.map(({ uri }) => uri.replace("corpus:///", ""))),
];

it("has the client's model write a report, whose sources can be read", async () => {
  await using t = await researching();
  let asked = "";
  t.answers({
    write: ({ messages }) => {
      asked = JSON.stringify(messages);
      return written;
    },
  });
  const task = await t.start("research", { question: "Which probe mapped Venus by radar?" });
  const { content, structuredContent } = await task.result();
  expect(content).toEqual([
    { type: "text", text: "Hot [1]." },
    expect.objectContaining({ type: "resource_link", uri: "corpus:///venus.md", title: "Venus" }),
  ]);
  expect(documentsOf(structuredContent)).toEqual(["venus.md"]);
  expect(asked).toContain(
    "[1] Clouds of sulphuric acid hide the surface. The probe Magellan mapped it by radar.",
  );
  await task.assertJournal(["search", '["read","venus.md"]', "write"]);
  const { contents } = await t.client.readResource("corpus:///venus.md");
  expect(contents).toEqual([expect.objectContaining({ text: expect.stringContaining("Magellan") })]);
  expect((await task.output()).length).toBe((structuredContent as Report).sources.length);
});

describe("a question that can mean several things", () => {
  it("is narrowed down by the user, days and a crash later", async () => {
    await using t = await researching();
    t.answers({ write: written });
    const task = await t.start("research", ambiguous);
    const { params } = await task.question("narrow");
    expect(params).toMatchObject({
      message: "“How hot does mercury get?” can mean several things. What is it about?",
      requestedSchema: {
        properties: {
          topic: {
            oneOf: [
              { const: "mercury-metal.md", title: "Mercury, the metal" },
              { const: "mercury-planet.md", title: "Mercury, the planet" },
              { const: "all" },
            ],
          },
        },
      },
    });
    await t.crash();
    await t.restart();
    const read = t.crash({ after: ["read", "mercury-planet.md"] });
    await task.answer("narrow", topic("mercury-planet.md"));
    await read;
    await t.restart();
    const { structuredContent } = await task.result();
    expect(documentsOf(structuredContent)).toEqual(["mercury-planet.md"]);
    expect((structuredContent as Report).sources[0]?.quote).toContain("as hot as 430 °C");
    expect([t.runs("search"), t.runs(["read", "mercury-planet.md"])]).toEqual([1, 1]);
    expect(await task.logs()).toHaveLength(1);
  });

  it.each([
    ["declines to say", { action: "decline" as const }],
    ["wants all", topic("all")],
  ])("is researched in all of them where the user %s", async (_, answer) => {
    await using t = await researching();
    t.answers({ write: written, narrow: answer });
    const { structuredContent } = await t.call("research", ambiguous);
    expect(documentsOf(structuredContent)).toEqual(["mercury-metal.md", "mercury-planet.md"]);
  });

  it("can be withdrawn while it waits for the user", async () => {
    await using t = await researching();
    const task = await t.start("research", ambiguous);
    await task.question("narrow");
    await task.cancel();
    await expect(task.result()).rejects.toMatchObject({ code: "cancelled" });
    expect(t.runs(["read", "mercury-planet.md"])).toBe(0);
  });
});

it.each(["2026-07-28", "2025-11-25"] as const)(
  "answers a client of %s that has neither a user nor a model to ask",
  async (protocolVersion) => {
    await using t = await researching({ capabilities: {}, protocolVersion });
    const { content, structuredContent } = await t.call("research", ambiguous);
    expect(documentsOf(structuredContent)).toEqual(["mercury-metal.md", "mercury-planet.md"]);
    expect(content[0]).toMatchObject({ text: expect.stringMatching(/^\[1\] .+\.\n\[2\] /) });
  },
);

it("says that it has found nothing", async () => {
  await using t = await researching();
  const { content, structuredContent } = await t.call("research", { question: "Who wrote Faust?" });
  expect(content).toEqual([{ type: "text", text: "The documents say nothing about that." }]);
  expect(structuredContent).toMatchObject({ sources: [] });
});
