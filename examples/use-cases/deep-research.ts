import { McpServer, ResourceTemplate, type ResourceLink } from "@modelcontextprotocol/server";
import { HoldfastError, type TaskContext, type Tasks } from "holdfast";
import * as z from "zod";
import type { Corpus, Passage } from "./corpus.ts";

const Source = z.object({ number: z.number(), title: z.string(), uri: z.string(), quote: z.string() });
const uriOf = (document: string): string => `corpus:///${encodeURIComponent(document)}`;

/** Documents whose best passage comes this close to the best of all are about the question as well. */
const asGood = 0.6;

/** Answers questions from the documents of a corpus, and asks back if a question can mean several things. */
export function addDeepResearch(tasks: Tasks, corpus: Corpus): void {
  tasks.tool(
    "research",
    {
      description: "Researches a question in our documents, and writes a report that cites them",
      inputSchema: z.object({ question: z.string().min(1) }),
      outputSchema: z.object({ report: z.string(), sources: z.array(Source) }),
      annotations: { readOnlyHint: true },
    },
    async ({ question }, task) => {
      const found = await task.step("search", () => corpus.search(question));
      const best = found[0]?.score ?? 0;
      const topics = new Map<string, string>();
      for (const { document, title, score } of found) if (score >= best * asGood) topics.set(document, title);
      const chosen = topics.size > 1 ? await narrowed(task, question, topics) : [...topics.keys()];

      // The second round looks for what the best passages are about, beyond the words of the question.
      const rounds = chosen.map(async (document) => {
        const first = found.filter((passage) => passage.document === document);
        const about = first.map(({ text }) => text).join(" ");
        const second = await task.step(["read", document], () => corpus.search(about, { document }));
        const others = second.filter(({ text }) => !first.some((passage) => passage.text === text));
        const passages = [...first, ...others].slice(0, 3);
        await task.log("info", `${passages.length} passages of ${document}`);
        return passages;
      });
      const passages = (await Promise.all(rounds)).flat();
      if (passages.length === 0) return report("The documents say nothing about that.", []);
      for (const { title, text } of passages) void task.output(`${title}: ${text}`); // to read while the report is written

      const numbered = passages.map(({ text }, place) => `[${place + 1}] ${text}`);
      return report(
        (await written(task, question, numbered)) ?? numbered.map(firstSentence).join("\n"),
        passages,
      );
    },
  );
}

/** Which documents the user means. */
async function narrowed(
  task: TaskContext,
  question: string,
  topics: ReadonlyMap<string, string>,
): Promise<readonly string[]> {
  const choices = [...topics].map(([document, title]) => ({ const: document, title }));
  const answer = await unlessUnable(
    task.elicit("narrow", {
      message: `“${question}” can mean several things. What is it about?`,
      requestedSchema: {
        type: "object",
        properties: {
          topic: { type: "string", oneOf: [...choices, { const: "all", title: "All of them" }] },
        },
        required: ["topic"],
      },
    }),
  );
  const topic = answer?.content?.["topic"];
  // Without an answer, the report is on all of them.
  return typeof topic === "string" && topics.has(topic) ? [topic] : [...topics.keys()];
}

/** What the client's model makes of the passages. */
async function written(
  task: TaskContext,
  question: string,
  passages: readonly string[],
): Promise<string | undefined> {
  const text = `Answer the question from these passages alone, and cite them by their numbers.\n\n${question}\n\n${passages.join("\n\n")}`;
  const answer = await unlessUnable(
    task.sample("write", { messages: [{ role: "user", content: { type: "text", text } }], maxTokens: 1_000 }),
  );
  return answer?.content.type === "text" ? answer.content.text : undefined;
}

/** Undefined if the client cannot ask anybody. */
async function unlessUnable<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    const { data } = error instanceof HoldfastError ? error : {};
    if (typeof data === "object" && data !== null && "requiredCapabilities" in data) return undefined;
    throw error;
  }
}

function firstSentence(passage: string): string {
  return /^.+?[.!?](?= |$)/s.exec(passage)?.[0] ?? passage;
}

function report(text: string, passages: readonly Passage[]) {
  const sources = passages.map(({ document, title, text: quote }, place) => {
    return { number: place + 1, title, uri: uriOf(document), quote };
  });
  const documents = new Map(passages.map(({ document, title }) => [document, title]));
  const links = [...documents].map(([name, title]): ResourceLink => {
    return { type: "resource_link", uri: uriOf(name), name, title, mimeType: "text/markdown" };
  });
  return {
    content: [{ type: "text" as const, text }, ...links],
    structuredContent: { report: text, sources },
  };
}

/** A server on which the links of reports can be read. */
export function corpusServer(corpus: Corpus): McpServer {
  const server = new McpServer({ name: "research", version: "1.0.0" });
  const template = new ResourceTemplate("corpus:///{document}", { list: undefined });
  server.registerResource("document", template, { mimeType: "text/markdown" }, (uri, { document }) => {
    const text = corpus.text(decodeURIComponent(String(document)));
    if (text === undefined) throw new Error(`There is no document ${String(document)}.`);
    return { contents: [{ uri: uri.href, mimeType: "text/markdown", text }] };
  });
  return server;
}
