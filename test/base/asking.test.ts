import {
  inputRequired,
  McpServer,
  type CreateMessageRequest,
  type ElicitRequestFormParams,
  type ElicitRequestURLParams,
  type McpRequestContext,
} from "@modelcontextprotocol/server";
import type { ConnectOptions, OnInput } from "holdfast/client";
import { describe, expect, it } from "vitest";
import { expectReport, revisions, serveBeside, text, type Served } from "./beside-tasks.ts";

const form: ElicitRequestFormParams = {
  message: "Which month?",
  requestedSchema: { type: "object", properties: { month: { type: "string" } }, required: ["month"] },
};
const url: ElicitRequestURLParams = {
  mode: "url",
  message: "Please sign in.",
  elicitationId: "e1",
  url: "https://example.com/sign-in",
};
const sampling: CreateMessageRequest["params"] = {
  messages: [{ role: "user", content: { type: "text", text: "Sum up" } }],
  maxTokens: 10,
};
const paris = { role: "assistant", model: "m", content: { type: "text", text: "Paris" } } as const;

/** Tools of the author's that ask in the way of each revision; what they are answered is their result. */
function asking({ era }: McpRequestContext): McpServer {
  const mcp = new McpServer({ name: "asking", version: "1.0.0" });
  if (era === "legacy") {
    mcp.registerTool("form", {}, async ({ mcpReq }) => said(await mcpReq.elicitInput(form)));
    mcp.registerTool("url", {}, async ({ mcpReq }) => said(await mcpReq.elicitInput(url)));
    mcp.registerTool("sample", {}, async ({ mcpReq }) => said(await mcpReq.requestSampling(sampling)));
    mcp.registerTool("sign_in", {}, async ({ mcpReq }) => {
      const complete = mcp.server.createElicitationCompletionNotifier("e1", { relatedRequestId: mcpReq.id });
      const answer = await mcpReq.elicitInput(url);
      await complete();
      return said(answer);
    });
    return mcp;
  }
  const requests = {
    form: inputRequired.elicit(form),
    url: inputRequired.elicitUrl(url),
    sample: inputRequired.createMessage(sampling),
  };
  for (const [name, asked] of Object.entries(requests)) {
    mcp.registerTool(name, {}, ({ mcpReq: { inputResponses } }) =>
      inputResponses === undefined
        ? inputRequired({ inputRequests: { asked } })
        : said(inputResponses["asked"]),
    );
  }
  return mcp;
}

/** The same questions, asked by durable tools. */
function server(): Promise<Served> {
  return serveBeside(asking, {}, (tasks) => {
    tasks.tool("slow_form", {}, async (_, task) => said(await task.elicit("month", form)));
    tasks.tool("slow_url", {}, async (_, task) => said(await task.elicit("sign-in", url)));
    tasks.tool("slow_sample", {}, async (_, task) => said(await task.sample("sum", sampling)));
  });
}

/** Without `_meta`, where 2025-11-25 says which task asked. */
function said(answer: unknown): ReturnType<typeof text> {
  return text(JSON.stringify(answer, (key, value: unknown) => (key === "_meta" ? undefined : value)));
}

function user(answer: Awaited<ReturnType<OnInput>>, asked: unknown[] = []): ConnectOptions {
  const capabilities = { elicitation: { form: {}, url: {} }, sampling: {} };
  const onInput: OnInput = async ({ method, params }) => {
    asked.push({ method, params });
    return answer;
  };
  return { capabilities, onInput };
}

describe.each(revisions)("on %s", (revision) => {
  it("tools ask the client's model, plain ones and durable ones [B-024]", async () => {
    const asked: unknown[] = [];
    const client = await (await server()).connect(revision, user(paris, asked));
    for (const tool of ["sample", "slow_sample"]) {
      const [content] = (await client.callTool(tool)).content;
      expect(JSON.parse(content?.type === "text" ? content.text : "")).toMatchObject(paris);
    }
    const question = { method: "sampling/createMessage", params: sampling };
    expect(asked).toMatchObject([question, question]);
    await expectReport(client);
  });

  it("a client that declares no sampling is not asked for it [B-024]", async () => {
    const asked: unknown[] = [];
    const capabilities = { elicitation: {} };
    const client = await (await server()).connect(revision, { ...user(paris, asked), capabilities });
    for (const tool of ["sample", "slow_sample"]) {
      const outcome = await client.callTool(tool).catch((error: unknown) => ({ isError: true, error }));
      expect(outcome).toMatchObject({ isError: true });
    }
    expect(asked).toEqual([]);
    await expectReport(client);
  });

  it.each([
    { action: "accept", content: { month: "2026-10" } },
    { action: "decline" },
    { action: "cancel" },
  ] as const)("tools ask the user by forms, who answers %j [B-025 B-026]", async (answer) => {
    const asked: unknown[] = [];
    const client = await (await server()).connect(revision, user(answer, asked));
    for (const tool of ["form", "slow_form"]) {
      expect(await client.callTool(tool)).toMatchObject(said(answer));
    }
    const question = { method: "elicitation/create", params: form };
    expect(asked).toMatchObject([question, question]);
    await expectReport(client);
  });

  it("tools send the user to a URL [B-025 B-026]", async () => {
    const asked: unknown[] = [];
    const client = await (await server()).connect(revision, user({ action: "accept" }, asked));
    for (const tool of ["url", "slow_url"]) {
      expect(await client.callTool(tool)).toMatchObject(said({ action: "accept" }));
    }
    const { mode, message, url: address } = url;
    const question = { method: "elicitation/create", params: { mode, message, url: address } };
    expect(asked).toMatchObject([question, question]);
  });

  it("a client is asked in no mode that it does not declare [B-025 B-026]", async () => {
    const served = await server();
    for (const [capabilities, tools] of [
      [{ elicitation: { form: {} } }, ["url", "slow_url"]],
      [{ elicitation: { url: {} } }, ["form", "slow_form"]],
    ] as const) {
      const asked: unknown[] = [];
      const client = await served.connect(revision, { ...user({ action: "accept" }, asked), capabilities });
      for (const tool of tools) {
        const outcome = await client.callTool(tool).catch((error: unknown) => ({ isError: true, error }));
        expect(outcome).toMatchObject({ isError: true });
      }
      expect(asked).toEqual([]);
    }
  });
});

it("a server of 2025-11-25 says that what it sent its user to a URL for is done [B-025]", async () => {
  const client = await (await server()).connect("2025-11-25", user({ action: "accept" }));
  const completed = Promise.withResolvers<string>();
  client.sdk.setNotificationHandler("notifications/elicitation/complete", ({ params }) =>
    completed.resolve(params.elicitationId),
  );
  expect(await client.callTool("sign_in")).toMatchObject(said({ action: "accept" }));
  expect(await completed.promise).toBe("e1");
  await expectReport(client);
});
