import { describe, expect, it } from "vitest";
import type { TaskCall } from "../../src/runtime/runtime.ts";
import type { TaskContext } from "../../src/runtime/tool/task-context.ts";
import { bodyOf, Process, text, type Handler } from "./harness.ts";

const caller = { clientId: "desk", scopes: ["reports"], claims: { org: "acme", roles: ["admin"] } };
const seen = { principal: "ann", ...caller };
const owner = { generation: "2026-07-28", principal: "ann" } as const;
const byAnn: Partial<TaskCall> = {
  ...owner,
  origin: { capabilities: { elicitation: {} }, caller },
  credentials: { token: "of another service" },
};

const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const told = async (task: Pick<TaskContext, "caller" | "credentials">): Promise<string> => {
  const credentials = await task.credentials().catch((error: { code: string }) => error.code);
  return JSON.stringify([task.caller, credentials]);
};
const tells: Handler = async (_, task) => text(await told(task));
const asksFirst: Handler = async (_, task) => {
  await task.elicit("ask", question);
  return text(await told(task));
};

async function answered(process: Process, id: string): Promise<unknown> {
  await process.until(id, ({ inputs }) => inputs.length === 1, owner);
  await process.runtime.answer(id, owner, [{ key: "ask", value: '{"action":"accept","content":{}}' }]);
  return ending(process, id);
}

async function ending(process: Process, id: string): Promise<unknown> {
  const ended = await process.until(id, ({ task }) => task.finishedAt !== null, owner);
  const { content } = bodyOf(ended) as { content: [{ text: string }] };
  return JSON.parse(content[0].text) as unknown;
}

describe("the caller of a task", () => {
  it("is what authentication found, with credentials that are stored nowhere", async () => {
    const process = await Process.started({ tools: { tells } });
    const id = await process.callId("tells", byAnn);
    expect(await ending(process, id)).toEqual([seen, byAnn.credentials]);
    expect(JSON.stringify(await process.store.request(id))).not.toContain("another service");
  });

  it("is nobody in particular where callers are not told apart", async () => {
    const process = await Process.started({ tools: { tells } });
    const ended = await process.ended(await process.callId("tells"));
    expect(bodyOf(ended)).toEqual(text(JSON.stringify([{ principal: null, claims: {} }, "no_credentials"])));
  });

  it.each(["crash", "restart"] as const)("is the same after a %s, without the credentials", async (how) => {
    const setup = { tools: { asksFirst } };
    const first = await Process.started(setup);
    const id = await first.callId("asksFirst", byAnn);
    await first.until(id, ({ inputs }) => inputs.length === 1, owner);
    const second = await first[how](setup);
    expect(await answered(second, id)).toEqual([seen, "no_credentials"]);
  });

  it("has its credentials also where its task waits in the queue first", async () => {
    const process = await Process.started({ tools: { tells } });
    const id = await process.callId("tells", { ...byAnn, queued: true });
    expect(await ending(process, id)).toEqual([seen, byAnn.credentials]);
  });

  it.each(["its handler", "a cancel"])("loses its credentials when its task is ended by %s", async (end) => {
    let seenTask: TaskContext | undefined;
    const keeps: Handler = async (_, task) => {
      seenTask = task;
      await task.elicit("ask", question);
      return text(await told(task));
    };
    const process = await Process.started({ tools: { keeps } });
    const id = await process.callId("keeps", byAnn);
    await process.until(id, ({ inputs }) => inputs.length === 1, owner);
    expect(await seenTask?.credentials()).toEqual(byAnn.credentials);
    if (end === "a cancel") await process.runtime.cancel(id, owner);
    else await answered(process, id);
    await process.until(id, ({ task }) => task.finishedAt !== null, owner);
    await expect(seenTask?.credentials()).rejects.toMatchObject({ code: "no_credentials" });
  });

  it("is that of the first call where a call is repeated under its key", async () => {
    const process = await Process.started({ tools: { asksFirst } });
    const id = await process.callId("asksFirst", { ...byAnn, idempotencyKey: "k" });
    const again = { ...byAnn, idempotencyKey: "k", credentials: "others" };
    expect(await process.callId("asksFirst", again)).toBe(id);
    expect(await answered(process, id)).toEqual([seen, byAnn.credentials]);
  });

  it("is known to a handler that runs directly before there is a task, and to prepare", async () => {
    const prepared: unknown[] = [];
    const tool = {
      config: {
        promoteAfterMs: 1_000,
        prepare: async (_: unknown, ask: { caller: unknown }) => void prepared.push(ask.caller),
      },
      handler: tells,
    };
    const process = await Process.started({ tools: { tool } });
    const call = { tool: "tool", arguments: {}, ...byAnn } as TaskCall;
    const end = await process.runtime.call(call, new AbortController().signal);
    expect(end).toMatchObject({
      kind: "outcome",
      outcome: { body: JSON.stringify(text(JSON.stringify([seen, byAnn.credentials]))) },
    });
    const inTask = await process.callId("tool", { ...byAnn, prepareInTask: true });
    expect(await ending(process, inTask)).toEqual([seen, byAnn.credentials]);
    expect(prepared).toEqual([seen]);
  });

  it("fails a handler that needs credentials and finds none with a result that says why", async () => {
    const process = await Process.started({
      tools: { needs: async (_, task) => text(String(await task.credentials())) },
    });
    expect(bodyOf(await process.ended(await process.callId("needs")))).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("has no credentials for the call") as string }],
    });
  });
});
