import { describe, expect, it } from "vitest";
import type { ConnectOptions } from "../../src/client/connect-options.ts";
import type { InputFailure, InputRequest, InputResult } from "../../src/client/question/ask-user.ts";
import {
  acknowledged,
  approval,
  asking,
  cancelled,
  completed,
  created,
  sampling,
  sent,
  taskId,
  working,
} from "./answers.ts";
import { setUp } from "./setup.ts";

const link = {
  method: "elicitation/create",
  params: { mode: "url", message: "Pay", url: "https://pay.example/1", elicitationId: "e1" },
};
const yes = { action: "accept", content: { ok: true } } as const;

describe("a task's questions", () => {
  it("are asked and answered, with the task then watched to its end [X-056 X-057 X-065 X-066 X-067 X-106 X-B-023 X-P-008]", async () => {
    const asked: InputRequest[] = [];
    const { server, client } = await setUp({
      onInput: async (request) => {
        asked.push(request);
        return yes;
      },
    });
    server.script("tools/call", created());
    server.script("tasks/get", asking({ approve: approval }), working(), completed());
    server.script("tasks/update", acknowledged);
    expect(await client.callTool("publish_report")).toEqual(sent);
    expect(asked).toMatchObject([{ key: "approve", taskId, ...approval }]);
    // A question is answered by a request of the client's own, never by a JSON-RPC response.
    const counted = Map.groupBy(server.seen, ({ method }) => method);
    expect([...counted].map(([method, requests]) => [method, requests.length])).toEqual([
      ["server/discover", 1],
      ["tools/call", 1],
      ["tasks/get", 3],
      ["tasks/update", 1],
    ]);
    const [update] = server.of("tasks/update");
    expect(update?.params).toMatchObject({ taskId, inputResponses: { approve: yes } });
    expect(update?.headers).toMatchObject({ "mcp-method": "tasks/update", "mcp-name": taskId });
  });

  it("are asked once and answered once, whatever stale polls show [X-068 X-069]", async () => {
    let asked = 0;
    const { promise: answer, resolve } = Promise.withResolvers<InputResult>();
    const { server, client } = await setUp({
      onInput: async () => {
        asked++;
        return answer;
      },
    });
    const open = asking({ approve: approval });
    server.script("tools/call", created());
    server.script(
      "tasks/get",
      open,
      open,
      async () => {
        resolve(yes);
        await server.sees("tasks/update", 1);
        return open;
      },
      open,
      completed(),
    );
    server.script("tasks/update", acknowledged);
    expect(await client.callTool("publish_report")).toEqual(sent);
    expect(asked).toBe(1);
    expect(server.of("tasks/update")).toHaveLength(1);
  });

  it("are asked once although they go and come back before their answer is acknowledged [X-068]", async () => {
    let asked = 0;
    const { server, client } = await setUp({ onInput: async () => (asked++, yes) });
    const open = asking({ approve: approval });
    const shown = Promise.withResolvers<void>();
    server.script("tools/call", created());
    server.script(
      "tasks/get",
      open,
      async () => {
        await server.sees("tasks/update", 1);
        return working(); // the answer is there, and not yet acknowledged
      },
      open, // from a copy of the task that has not heard of it
      async () => {
        shown.resolve();
        await server.sees("tasks/update", 2);
        return completed();
      },
    );
    server.script(
      "tasks/update",
      async () => {
        await shown.promise;
        return acknowledged;
      },
      acknowledged,
    );
    expect(await client.callTool("publish_report")).toEqual(sent);
    expect(asked).toBe(1);
    const [first, second] = server.of("tasks/update").map(({ params }) => params["inputResponses"]);
    expect(second).toEqual(first);
  });

  it("are asked side by side, and each answer goes as it comes", async () => {
    const answers = new Map<string, (result: InputResult) => void>();
    const { server, client } = await setUp({
      onInput: async (request) =>
        new Promise((resolve) => {
          answers.set(request.key, resolve);
        }),
    });
    server.script("tools/call", created());
    server.script("tasks/get", asking({ one: approval, two: approval }), async () => {
      answers.get("two")?.(yes);
      await server.sees("tasks/update", 1);
      answers.get("one")?.({ action: "decline" });
      await server.sees("tasks/update", 2);
      return completed();
    });
    server.script("tasks/update", acknowledged, acknowledged);
    await client.callTool("publish_report");
    expect(server.of("tasks/update").map(({ params }) => params["inputResponses"])).toEqual([
      { two: yes },
      { one: { action: "decline" } },
    ]);
  });

  it("are answered through a failure of the connection", async () => {
    const { server, client } = await setUp({ onInput: async () => yes });
    server.script("tools/call", created());
    server.script("tasks/get", asking({ approve: approval }), async () => {
      await server.sees("tasks/update", 3);
      return completed();
    });
    server.script("tasks/update", "reset", { status: 503 }, acknowledged);
    expect(await client.callTool("publish_report")).toEqual(sent);
    expect(server.of("tasks/update")).toHaveLength(3);
  });

  it("end the wait when the server refuses the answer and still asks", async () => {
    const { server, client } = await setUp({ onInput: async () => yes });
    const error = { code: -32602, message: "not like that" };
    const open = asking({ approve: approval });
    server.script("tools/call", created());
    const refused = Promise.withResolvers<void>();
    server.script(
      "tasks/get",
      open,
      async () => {
        await server.sees("tasks/update", 1);
        return open;
      },
      ...Array.from({ length: 50 }, () => open),
    );
    server.script("tasks/update", () => {
      refused.resolve();
      return { error };
    });
    await expect(client.callTool("publish_report")).rejects.toMatchObject({ code: "rpc", error });
    await refused.promise;
  });

  it("are taken back when they are gone, and at the task's end", async () => {
    const signals: AbortSignal[] = [];
    const { server, client } = await setUp({
      onInput: async (request) => {
        signals.push(request.signal);
        return new Promise<never>(() => undefined);
      },
    });
    server.script("tools/call", created());
    const gone: boolean[] = [];
    server.script("tasks/get", asking({ one: approval, two: approval }), asking({ two: approval }), () => {
      gone.push(...signals.map(({ aborted }) => aborted));
      return completed();
    });
    await client.callTool("publish_report");
    expect(gone).toEqual([true, false]);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
    expect(server.of("tasks/update")).toHaveLength(0);
  });

  it("stay open while nobody waits, and are not asked again by the next wait", async () => {
    let asked = 0;
    const { promise: answer, resolve } = Promise.withResolvers<InputResult>();
    const { server, client } = await setUp({
      onInput: async () => {
        asked++;
        return answer;
      },
    });
    const open = asking({ approve: approval });
    server.script("tools/call", created());
    server.script("tasks/get", open, open, completed());
    server.script("tasks/update", acknowledged);
    const handle = await client.startTool("publish_report");
    for await (const task of handle.updates()) if (task.status === "input_required") break;
    resolve(yes);
    await server.sees("tasks/update", 1);
    expect(await handle.result()).toEqual(sent);
    expect(asked).toBe(1);
  });
});

describe("a question that cannot be answered", () => {
  it("is an elicitation cancelled, by a client that said it answers them [A-23]", async () => {
    const failures: InputFailure[] = [];
    const boom = new Error("no terminal");
    const callbacks = [
      { capabilities: { elicitation: {} } },
      {
        onInput: async () => Promise.reject(boom),
        onInputError: (failure: InputFailure) => void failures.push(failure),
      },
    ];
    for (const options of callbacks) {
      const { server, client } = await setUp(options);
      server.script("tools/call", created());
      server.script("tasks/get", asking({ approve: approval }), async () => {
        await server.sees("tasks/update", 1);
        return completed();
      });
      server.script("tasks/update", acknowledged);
      expect(await client.callTool("publish_report")).toEqual(sent);
      expect(server.of("tasks/update")[0]?.params["inputResponses"]).toEqual({
        approve: { action: "cancel" },
      });
    }
    expect(failures).toEqual([{ key: "approve", method: "elicitation/create", taskId, error: boom }]);
  });

  it("is the end of its task for sampling and roots [A-23]", async () => {
    const onInput = async (): Promise<never> => Promise.reject(new Error("no model"));
    for (const request of [sampling, { method: "roots/list" }]) {
      const { server, client } = await setUp({ onInput, capabilities: { sampling: {}, roots: {} } });
      server.script("tools/call", created());
      server.script("tasks/get", asking({ sum: request }), async () => {
        await server.sees("tasks/cancel", 1);
        return cancelled();
      });
      server.script("tasks/cancel", acknowledged);
      await expect(client.callTool("publish_report")).rejects.toMatchObject({ code: "cancelled", taskId });
      expect(server.of("tasks/update")).toHaveLength(0);
    }
  });

  it.each<[string, ConnectOptions, object]>([
    ["says it answers none", {}, approval],
    ["says nothing of sampling", { onInput: async () => yes }, sampling],
    ["says nothing of roots", { onInput: async () => yes }, { method: "roots/list" }],
    ["opens no links", { onInput: async () => yes }, link],
    ["only opens links", { onInput: async () => yes, capabilities: { elicitation: { url: {} } } }, approval],
    ["cannot know of the method", { onInput: async () => yes }, { method: "future/ask", params: {} }],
    [
      "samples without tools",
      { onInput: async () => yes, capabilities: { sampling: {} } },
      { ...sampling, params: { ...sampling.params, tools: [] } },
    ],
  ])("is left to others, and not asked, by a client that %s [X-067 A-23]", async (_, options, request) => {
    const failures: InputFailure[] = [];
    const { onInput } = options;
    let asked = 0;
    const { server, client, clock } = await setUp({
      ...options,
      ...(onInput !== undefined && { onInput: async (question) => (asked++, onInput(question)) }),
      onInputError: (failure) => void failures.push(failure),
    });
    server.script("tasks/get", asking({ approve: request }), asking({ approve: request }), completed());
    const handle = await client.resume({ server: server.url, generation: "2026-07-28", taskId });
    expect(await handle.result()).toEqual(sent);
    expect(server.seen.map(({ method }) => method)).not.toContain("tasks/update");
    expect(server.seen.map(({ method }) => method)).not.toContain("tasks/cancel");
    expect(clock.naps.length).toBeGreaterThan(0);
    expect(asked).toBe(0);
    expect(failures).toMatchObject([{ key: "approve", taskId }]);
  });

  it.each([
    ["an elicitation", approval, { action: "yes" }],
    ["a list of roots", { method: "roots/list" }, { action: "accept" }],
  ])("is %s that onInput answers with something else", async (_, request, wrong) => {
    const failures: InputFailure[] = [];
    const onInput = async (): Promise<never> => wrong as never;
    const { server, client } = await setUp({
      onInput,
      onInputError: (failure) => void failures.push(failure),
      capabilities: { elicitation: {}, roots: {} },
    });
    server.script("tools/call", created());
    server.script("tasks/get", asking({ approve: request }), async () => {
      await Promise.race([server.sees("tasks/update", 1), server.sees("tasks/cancel", 1)]);
      return cancelled();
    });
    server.script("tasks/update", acknowledged);
    server.script("tasks/cancel", acknowledged);
    await expect(client.callTool("publish_report")).rejects.toMatchObject({ code: "cancelled" });
    expect(failures).toMatchObject([{ error: expect.any(TypeError) as unknown }]);
  });

  it.each([
    ["a sampling", sampling],
    ["an elicitation", approval],
  ])("is %s and left open if onInputError says so [A-23]", async (_, request) => {
    const { server, client } = await setUp({
      onInput: async () => Promise.reject(new Error("not now")),
      onInputError: () => "leave_open",
      capabilities: { elicitation: {}, sampling: {} },
    });
    server.script("tools/call", created());
    server.script("tasks/get", asking({ it: request }), asking({ it: request }), completed());
    expect(await client.callTool("publish_report")).toEqual(sent);
    expect(server.seen.map(({ method }) => method)).not.toContain("tasks/cancel");
    expect(server.seen.map(({ method }) => method)).not.toContain("tasks/update");
  });

  it("ends the wait if onInputError throws", async () => {
    const { server, client } = await setUp({
      onInputError: () => {
        throw new Error("worse");
      },
    });
    server.script("tools/call", created());
    server.script("tasks/get", ...Array.from({ length: 50 }, () => asking({ sum: sampling })));
    await expect(client.callTool("publish_report")).rejects.toThrow("worse");
  });
});
