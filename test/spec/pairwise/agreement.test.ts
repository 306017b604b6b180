import type { Tasks } from "holdfast";
import { expect, it } from "vitest";
import { withRelatedTask, withTask } from "../../../src/generation/sep-1686.ts";
import { type Message, text } from "../../kit/messages.ts";
import { serve } from "../../kit/server.ts";
import { SessionClient } from "../../kit/session-client.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";
import { cells, type Cell } from "./cells.ts";

const dimensions = {
  method: ["tasks/get", "tasks/list", "tasks/result", "tasks/cancel", "tasks/delete", "tasks/update"],
  task: ["2026-07-28", "2025-11-25", "SEP-1686"],
  revision: ["2026-07-28", "2025-11-25", "2025-06-18"],
  /** Whose tasks the client has used before: nobody's, those of its revision, or of the other generation with sessions too. */
  used: ["nothing", "its own", "the other one", "both", "both, with this request"],
  /** Whether the server has sessions, which remember the use. */
  sessions: ["with sessions", "without"],
} as const;

type Value<Name extends keyof typeof dimensions> = (typeof dimensions)[Name][number];

const all = cells(dimensions, [
  {
    where: {
      revision: ["2026-07-28"],
      used: ["its own", "the other one", "both", "both, with this request"],
    },
    reason: "Each request of 2026-07-28 stands alone, and that revision knows no other generation.",
  },
  {
    where: { revision: ["2026-07-28"], used: ["nothing"], sessions: ["without"] },
    reason: "2026-07-28 has no sessions.",
  },
]);

/** The methods that a client has, by the generations whose tasks it sees. */
const methods: Readonly<Record<Value<"task">, readonly string[]>> = {
  "2026-07-28": ["tasks/get", "tasks/cancel", "tasks/update"],
  "2025-11-25": ["tasks/get", "tasks/list", "tasks/result", "tasks/cancel"],
  "SEP-1686": ["tasks/get", "tasks/list", "tasks/result", "tasks/delete"],
};

/** What every task has in the form of a generation, and what none has. */
const fields: Readonly<Record<Value<"task">, readonly [has: readonly string[], hasNot: readonly string[]]>> =
  {
    "2026-07-28": [
      ["createdAt", "lastUpdatedAt", "ttlMs"],
      ["ttl", "keepAlive", "pollFrequency"],
    ],
    "2025-11-25": [
      ["createdAt", "lastUpdatedAt", "ttl", "pollInterval"],
      ["ttlMs", "keepAlive", "pollFrequency"],
    ],
    "SEP-1686": [
      ["keepAlive", "pollFrequency"],
      ["createdAt", "lastUpdatedAt", "ttl", "ttlMs", "pollInterval"],
    ],
  };

/** The generation of each revision, and the other one that its sessions can have, with what a request shows of its use. */
const generationsOf = {
  "2026-07-28": { own: "2026-07-28", other: "2026-07-28", use: {} },
  "2025-11-25": { own: "2025-11-25", other: "SEP-1686", use: withRelatedTask({}, "any") },
  "2025-06-18": { own: "SEP-1686", other: "2025-11-25", use: { task: {} } },
} as const;

/** The generations whose tasks a client sees: without sessions, those that this very request uses. */
function seen({ revision, used, sessions }: Cell<typeof dimensions>): readonly Value<"task">[] {
  const { own, other } = generationsOf[revision];
  const usedBefore = sessions === "with sessions" && (used === "both" || used === "the other one");
  return usedBefore || used === "both, with this request" ? [own, other] : [own];
}

/** The session of a client, or what it does where there are none: then each request names the revision. */
function open(url: string, version: Value<"revision">): Promise<SessionClient> {
  return SessionClient.open(url, { version, headers: { "mcp-protocol-version": version } });
}

/** Under these, the task has to run; it has ended for the others. */
const whileRunning: readonly string[] = ["tasks/cancel", "tasks/update"];

function tools(tasks: Tasks): void {
  tasks.tool("done", {}, () => text("done"));
  tasks.tool("wait", {}, async (_, { signal }) => {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return text("stopped");
  });
}

let count = 0;

/** Starts a task of a generation in a session of its own, or in this one; resolves with its id once the tool has run, if it ends. */
const starts = {
  async "2026-07-28"(url: string, tool: string): Promise<string> {
    const peer = new StatelessClient(url);
    const taskId = await peer.start(tool);
    if (tool === "done") await peer.ended(taskId);
    return taskId;
  },
  async "2025-11-25"(url: string, tool: string, peer?: SessionClient): Promise<string> {
    const own = peer ?? (await open(url, "2025-11-25"));
    const { result } = await own.request("tools/call", { name: tool, arguments: {}, task: {} });
    const { taskId } = (result as { readonly task: { readonly taskId: string } }).task;
    if (tool === "done") await own.request("tasks/result", { taskId });
    return taskId;
  },
  async "SEP-1686"(url: string, tool: string, peer?: SessionClient): Promise<string> {
    const own = peer ?? (await open(url, "2025-06-18"));
    const taskId = `chosen-${++count}`;
    const stream = await own.begin("tools/call", withTask({ name: tool, arguments: {} }, { taskId }));
    await stream.message(); // that it was created
    if (tool === "done") await stream.message();
    return taskId;
  },
};

type Ask = (method: string, params: object) => Promise<Message>;

/** A client of the revision that has used what it says. */
async function client(url: string, { revision, used }: Cell<typeof dimensions>): Promise<Ask> {
  if (revision === "2026-07-28") {
    const peer = new StatelessClient(url);
    return async (method, params) => ({ ...(await peer.send(method, params)) });
  }
  const peer = await open(url, revision);
  const { own, use } = generationsOf[revision];
  if (used !== "nothing" && used !== "the other one") await starts[own](url, "done", peer);
  if (used === "both" || used === "the other one") await peer.request("ping", use);
  const more = used === "both, with this request" ? use : {};
  return (method, params) => peer.request(method, { ...params, ...more });
}

it.each(all)(
  "treats a task alike in every method: $method of a $task task, on $revision after $used, $sessions [C-075 S-049 A-35 A-46]",
  async (cell) => {
    const { method, task, revision, used, sessions } = cell;
    const keeps = sessions === "with sessions";
    const { http, errors } = await serve({
      tools,
      options: { stopDeadlineMs: 1 },
      http: { anonymous: "shared", sessions: keeps },
    });
    const taskId = await starts[task](http.url, whileRunning.includes(method) ? "wait" : "done");
    const ask = await client(http.url, cell);
    const generations = seen(cell);
    const { result, error } = await ask(
      method,
      method === "tasks/list" ? {} : { taskId, inputResponses: {} },
    );

    const isMethod = generations.some((generation) => methods[generation].includes(method));
    const { own, other } = generationsOf[revision];
    const isOfOther =
      used === "both, with this request" || (keeps && used === "the other one" && method === "tasks/list");
    const [has, hasNot] = fields[isOfOther ? other : own];
    const shape = {
      ...Object.fromEntries(has.map((field) => [field, expect.anything() as unknown])),
      taskId,
    };
    if (!isMethod) {
      expect(error).toMatchObject({ code: -32601 });
    } else if (method === "tasks/list") {
      const { tasks } = result as { readonly tasks: readonly Message[] };
      const mine = tasks.filter((each) => each["taskId"] === taskId);
      expect(mine).toMatchObject(generations.includes(task) ? [shape] : []);
      for (const each of tasks) for (const field of hasNot) expect(each).not.toHaveProperty(field);
    } else if (!generations.includes(task)) {
      expect(error).toEqual({ code: -32602, message: "Unknown or expired task" });
    } else if (method === "tasks/delete" && task !== "SEP-1686") {
      expect(error).toMatchObject({
        code: -32602,
        message: expect.stringContaining("2025-11-25") as unknown,
      });
    } else if (method === "tasks/result") {
      expect(result).toMatchObject(text("done"));
    } else {
      expect(error).toBeUndefined();
      if (method === "tasks/get") {
        expect(result).toMatchObject(shape);
        for (const field of hasNot) expect(result).not.toHaveProperty(field);
      }
      if (method === "tasks/cancel" && revision !== "2026-07-28")
        expect(result).toMatchObject({ taskId, status: "cancelled" });
    }
    expect(errors).toEqual([]);
  },
);
