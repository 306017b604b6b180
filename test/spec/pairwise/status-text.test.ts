import { type CallToolResult, ProtocolError } from "@modelcontextprotocol/server";
import type { TaskContext } from "holdfast";
import { createFetchHandler } from "holdfast/http";
import { expect, it, onTestFinished } from "vitest";
import type { InputResult } from "../../../src/client/question/ask-user.ts";
import { memoryStore } from "../../../src/memory.ts";
import { setUpCore, type CorePeer } from "../../client/2025-11-25/core-peer.ts";
import { setUpSep, taskKey } from "../../client/sep-1686/sep-peer.ts";
import { User } from "../../client/user.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { type Message, text, withoutTasks } from "../../kit/messages.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";
import { Subscription } from "../../kit/subscription.ts";
import { clockedServer, type ClockedServer } from "../../server/plain/clocked-server.ts";
import { ticketOf } from "../../server/plain/job.ts";
import * as sep from "../../server/sep-1686/sep.ts";
import { cells, type Cell } from "./cells.ts";

const work = ["nothing", "status text", "retry", "progress", "log"] as const;
const ends = ["completed", "isError", "protocol error", "thrown", "cancel", "expiry"] as const;
const dimensions = {
  work,
  end: ends,
  generation: ["2026-07-28", "2025-11-25", "sep-1686", "plain"],
  side: ["server", "client"],
} as const;
const all = cells(dimensions, [
  {
    where: { side: ["client"], generation: ["2026-07-28", "plain"] },
    reason: "Here, clients have no tasks of their own: they answer questions in place.",
  },
  {
    where: {
      side: ["client"],
      generation: ["2025-11-25", "sep-1686"],
      work: ["status text", "retry", "progress", "log"],
    },
    reason:
      "Only the user works on a question: `onInput` has no texts, progress or log, and is not tried again.",
  },
  {
    where: {
      side: ["client"],
      generation: ["2025-11-25", "sep-1686"],
      work: ["nothing"],
      end: ["isError"],
    },
    reason: "An answer to a question has no `isError`.",
  },
  {
    where: { side: ["client"], generation: ["sep-1686"], work: ["nothing"], end: ["expiry"] },
    reason: "A `keepAlive` counts from the end of the task, and a client has no other limit of its own.",
  },
]);

const diagnosis = "API rate limit exceeded";
const unanswered = "The question could not be answered.";
/** What the work says of itself while it goes on. */
const said = "page 3 of 9";
const attempt = "Attempt 2 of 2";
const timeMs = 3_600_000;

/** The text that a task shows once it has ended. */
function textAfter({ work: before, end, generation, side }: Cell<typeof dimensions>): string | undefined {
  switch (end) {
    case "completed":
      return undefined;
    case "isError":
      return diagnosis;
    case "protocol error":
      return side === "client" ? unanswered : diagnosis;
    case "thrown":
      if (side === "client") return unanswered;
      return before === "retry" && generation !== "plain" ? `${attempt} failed: ${diagnosis}` : diagnosis;
    case "cancel":
      return "Cancelled by the caller.";
    case "expiry":
      return "The task expired before it ended.";
  }
}

/** The status of a task that has ended. A client fails what the user cannot answer, whatever was thrown. */
function statusAfter({ end, generation, side }: Cell<typeof dimensions>): string {
  if (end === "cancel") return "cancelled";
  if (end === "protocol error" || end === "expiry") return "failed";
  const toolFailed = end === "isError" || end === "thrown";
  return toolFailed && (generation === "2025-11-25" || side === "client") ? "failed" : "completed";
}

/** What a test sees of a task: each answer or notification that shows it, by what it is. */
type Doors = Readonly<Record<string, Message | undefined>>;

interface Stage {
  /** The task while its handler works. */
  working(): Promise<unknown>;
  /** The caller cancels it. */
  cancel(): Promise<unknown>;
  /** The task once it has ended. */
  doors(): Promise<Doors>;
}

const onServers = all.filter(({ side }) => side === "server");
const onClients = all.filter(({ side }) => side === "client");

it.each(onServers)("$work, then $end: $generation, a server [C-032 C-117 X-018 X-098]", async (cell) =>
  showsItsEnd(cell, await onServer(cell)),
);

it.each(onClients)("$work, then $end: $generation, a client [C-032 C-117]", async (cell) =>
  showsItsEnd(cell, await onClient(cell)),
);

async function showsItsEnd(cell: Cell<typeof dimensions>, { begun, end, stage }: Begun): Promise<void> {
  await begun;
  const shown = JSON.stringify(await stage.working());
  const worked = { nothing: "", "status text": said, retry: attempt, progress: said, log: "" }[cell.work];
  if (showsText(cell)) expect(shown).toContain(worked);
  await (cell.end === "cancel" ? stage.cancel() : end());
  const status = statusAfter(cell);
  const expected = textAfter(cell);
  for (const [door, task] of Object.entries(await stage.doors())) {
    const whole = JSON.stringify(task);
    expect(whole).not.toContain(said);
    if (cell.work !== "retry" || cell.end !== "thrown") expect(whole).not.toContain("Attempt");
    const { status: is, statusMessage, error } = task ?? {};
    if (cell.generation === "plain") expect(whole).toContain(expected ?? "done");
    else if (cell.generation === "sep-1686")
      expect([door, is, error]).toEqual([door, status, status === "failed" ? expected : undefined]);
    else expect([door, is, statusMessage]).toEqual([door, status, expected]);
  }
}

/** Tasks of SEP-1686 have no text, and progress shows in the text where there are no notifications of it. */
function showsText({ generation, work: before }: Cell<typeof dimensions>): boolean {
  if (generation === "sep-1686") return false;
  return before !== "progress" || generation !== "2025-11-25";
}

interface Begun {
  readonly begun: Promise<unknown>;
  /** Lets the work end, or its time. */
  readonly end: () => Promise<unknown>;
  readonly stage: Stage;
}

async function onServer(cell: Cell<typeof dimensions>): Promise<Begun> {
  const begun = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  let isFirst = true;
  const job = async (_: unknown, task: TaskContext): Promise<CallToolResult> => {
    if (cell.work === "retry" && isFirst) {
      isFirst = false;
      throw new Error("busy");
    }
    if (cell.work === "status text") await task.status(said);
    if (cell.work === "progress") task.progress(3, 9, said);
    if (cell.work === "log") await task.log("info", said);
    begun.resolve();
    await Promise.race([gate.promise, aborted(task.signal)]);
    return ending(cell.end);
  };
  const retry = cell.work === "retry" ? { retry: { attempts: 2 } } : {};
  const started = await clockedServer((tasks) => {
    tasks.tool("job", { ...retry, maxRunMs: timeMs }, job);
  });
  const { clock } = started;
  const stage = await callers[cell.generation](started);
  await clock.advance(10_000); // the pause before another attempt, and that between reports of progress
  const end = async (): Promise<void> => {
    if (cell.end !== "expiry") gate.resolve();
    await clock.advance(cell.end === "expiry" ? timeMs : 0);
  };
  return { begun: begun.promise, end, stage };
}

function ending(end: (typeof ends)[number]): CallToolResult {
  if (end === "protocol error") throw new ProtocolError(-32_050, diagnosis);
  if (end === "thrown") throw new Error(diagnosis);
  return end === "isError" ? { ...text(diagnosis), isError: true } : text("done");
}

async function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error));
  });
}

const isOver = (task: unknown): boolean =>
  ["completed", "failed", "cancelled"].includes(String((task as Message | undefined)?.["status"]));

const inList = ({ tasks }: Message, taskId: string): Message | undefined =>
  (tasks as Message[]).find((task) => task["taskId"] === taskId);

/** A caller of the server's tool `job`, whose task has begun. */
const callers = {
  async "2026-07-28"({ server }: ClockedServer): Promise<Stage> {
    const handler = createFetchHandler(server, { allowedHosts: "any", authenticate: async () => "alice" });
    onTestFinished(() => handler.close());
    const url = "http://localhost/mcp";
    const send = (to: string, init: RequestInit): Promise<Response> => handler.fetch(new Request(to, init));
    const client = new StatelessClient(url, send);
    const call = { meta: { "holdfast/idempotencyKey": "same" } };
    const taskId = await client.start("job", {}, call);
    const pushed = await Subscription.to(url, { taskIds: [taskId] }, { fetch: send });
    return {
      working: () => client.get(taskId),
      cancel: () => client.result("tasks/cancel", { taskId }),
      async doors() {
        const get = await client.ended(taskId);
        await pushed.next();
        let task = await pushed.task();
        while (!isOver(task)) task = await pushed.task();
        await pushed.leave();
        const { result } = await client.call("job", {}, call);
        return { get, pushed: task, ...(get["status"] !== "cancelled" && { "called again": result }) };
      },
    };
  },

  async "2025-11-25"({ server }: ClockedServer): Promise<Stage> {
    const session = await InMemorySession.open(server);
    const taskId = await session.start("job");
    let answer: Message | undefined;
    return {
      working: () => session.request("tasks/get", { taskId }),
      cancel: async () => (answer = await session.request("tasks/cancel", { taskId })),
      async doors() {
        const { params } = await session.message(
          ({ method, params: told }) => method === "notifications/tasks/status" && isOver(told),
        );
        return {
          ...(answer && { answer }),
          get: await session.request("tasks/get", { taskId }),
          list: inList(await session.request("tasks/list"), taskId),
          pushed: params as Message,
        };
      },
    };
  },

  async "sep-1686"({ server }: ClockedServer): Promise<Stage> {
    const session = await InMemorySession.open(server, { version: "2025-06-18" });
    const requestId = await sep.start(session, "mine", "job");
    return {
      working: () => session.request("tasks/get", sep.about("mine")),
      cancel: async () => session.notify("notifications/cancelled", { requestId }),
      async doors() {
        const get = await sep.until(session, "mine");
        return { get, list: inList(await session.request("tasks/list"), "mine") };
      },
    };
  },

  async plain(started: ClockedServer): Promise<Stage> {
    const { clock } = started;
    const client = started.peer("alice");
    const call = async (name: string, args = {}): Promise<Record<string, unknown> | undefined> => {
      const answer = client.call(name, args, { capabilities: withoutTasks });
      await clock.advance(45_000);
      const { result, error } = await answer;
      return result ?? { error };
    };
    const { reference } = ticketOf(await call("job"));
    return {
      working: () => call("task_result", { reference }),
      cancel: () => call("task_cancel", { reference }),
      doors: async () => ({ result: await call("task_result", { reference }) }),
    };
  },
};

const capabilities = { elicitation: { form: {} }, sampling: {} };
const answer: InputResult = { role: "assistant", model: "none", content: { type: "text", text: "42" } };

async function onClient({ end, generation }: Cell<typeof dimensions>): Promise<Begun> {
  const user = new User();
  const onInputError = end === "thrown" ? broken : undefined;
  const options = {
    capabilities,
    onInput: user.onInput,
    receiveTasks: { store: memoryStore() },
    ...(onInputError && { onInputError }),
  };
  const isCore = generation === "2025-11-25";
  const { peer } = await (isCore ? setUpCore(options) : setUpSep(options));
  const stage = await (isCore ? coreAsker : sepAsker)(peer, end === "expiry" ? 50 : 60_000);
  return {
    begun: user.isAsked(1),
    async end() {
      if (end === "completed") user.answer(0, answer);
      else if (end !== "expiry") user.fail(0);
    },
    stage,
  };
}

function broken(): never {
  throw new Error("Nobody is there");
}

const question = { messages: [{ role: "user", content: { type: "text", text: "Sum up" } }], maxTokens: 9 };
const ask = async (peer: CorePeer, method: string, params: object): Promise<Message> => {
  const { result } = (await peer.ask(method, params).answer) as { result: Message };
  return result;
};

/** The task once it is over. */
async function over(peer: CorePeer, taskId: string): Promise<Message> {
  for (;;) {
    const task = await ask(peer, "tasks/get", { taskId });
    if (isOver(task)) return task;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function coreAsker(peer: CorePeer, ttl: number): Promise<Stage> {
  const { task } = await ask(peer, "sampling/createMessage", { ...question, task: { ttl } });
  const { taskId } = task as { taskId: string };
  let cancelled: Message | undefined;
  return {
    working: () => ask(peer, "tasks/get", { taskId }),
    cancel: async () => (cancelled = await ask(peer, "tasks/cancel", { taskId })),
    async doors() {
      const get = await over(peer, taskId);
      await peer.sees("notifications/tasks/status");
      const pushed = peer.params("notifications/tasks/status").at(-1);
      const list = inList(await ask(peer, "tasks/list", {}), taskId);
      return { ...(cancelled && { answer: cancelled }), get, list, pushed };
    },
  };
}

async function sepAsker(peer: CorePeer): Promise<Stage> {
  const taskId = "theirs";
  const { id } = peer.ask("sampling/createMessage", { ...question, _meta: { [taskKey]: { taskId } } });
  await peer.sees("notifications/tasks/created");
  return {
    working: () => ask(peer, "tasks/get", { taskId }),
    cancel: async () => peer.notify("notifications/cancelled", { requestId: id }),
    async doors() {
      const get = await over(peer, taskId);
      return { get, list: inList(await ask(peer, "tasks/list", {}), taskId) };
    },
  };
}
