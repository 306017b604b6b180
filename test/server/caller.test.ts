import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TaskCaller, Tasks } from "holdfast";
import type { Authenticate } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import { expect, it, onTestFinished } from "vitest";
import { text, withoutTasks } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { SessionClient } from "../kit/session-client.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { accept, form, PrepareCaller } from "./prepare-caller.ts";

const token = "a-token-that-nobody-else-sees";
const secret = "a-secret-of-another-service";
const headers = { authorization: `Bearer ${token}` };
const seen: TaskCaller = {
  principal: "ann",
  clientId: "desk",
  scopes: ["reports"],
  claims: { org: "acme" },
};

const authenticate: Authenticate = async (request) => {
  if (request.headers.get("authorization") !== headers.authorization) return undefined;
  return {
    principal: "ann",
    authInfo: { token, clientId: "desk", scopes: ["reports"], extra: { email: "ann@example.com" } },
    claims: { org: "acme" },
    credentials: { secret },
  };
};

interface Seen {
  readonly by: string;
  readonly caller: TaskCaller;
  readonly credentials?: unknown;
}

/** Tools that write down who called. */
function tools(all: Seen[]) {
  return (tasks: Tasks): void => {
    for (const task of ["optional", "forbidden"] as const) {
      tasks.tool(task, { task }, async (_args, context) => {
        all.push({ by: task, caller: context.caller, credentials: await context.credentials() });
        return text("done");
      });
    }
    tasks.tool(
      "greet",
      {
        prepare: async (_args, ask) => {
          await ask.elicit("user_name", form("user_name?"));
          all.push({ by: "prepare", caller: ask.caller });
        },
      },
      async (_args, context) => {
        all.push({ by: "greet", caller: context.caller, credentials: await context.credentials() });
        return text("done");
      },
    );
  };
}

const ways: readonly [string, string, (url: string) => Promise<unknown>][] = [
  ["optional", "a task of 2026-07-28", async (url) => endOf(new StatelessClient(url, withToken), "optional")],
  [
    "forbidden",
    "a direct call of 2026-07-28",
    (url) => new StatelessClient(url, withToken).call("forbidden"),
  ],
  [
    "optional",
    "a client of 2026-07-28 without tasks",
    (url) => new StatelessClient(url, withToken).call("optional", {}, { capabilities: withoutTasks }),
  ],
  [
    "optional",
    "a task of 2025-11-25",
    async (url) => {
      const session = await SessionClient.open(url, { headers });
      const { result } = await session.request("tools/call", { name: "optional", arguments: {}, task: {} });
      const { taskId } = (result as { task: { taskId: string } }).task;
      return session.request("tasks/result", { taskId });
    },
  ],
  ["optional", "a call of 2025-11-25 without a task", (url) => inSession(url, "2025-11-25", "optional")],
  ["forbidden", "a direct call of 2025-11-25", (url) => inSession(url, "2025-11-25", "forbidden")],
  ["optional", "a client of 2025-06-18", (url) => inSession(url, "2025-06-18", "optional")],
  [
    "optional",
    "a task of SEP-1686",
    async (url) => {
      const session = await SessionClient.open(url, { headers, version: "2025-06-18" });
      const _meta = { "modelcontextprotocol.io/task": { taskId: "mine" } };
      return session.request("tools/call", { name: "optional", arguments: {}, _meta });
    },
  ],
];

function withToken(url: string, init: RequestInit): Promise<Response> {
  return fetch(url, { ...init, headers: { ...(init.headers as Record<string, string>), ...headers } });
}

async function endOf(peer: StatelessClient, tool: string): Promise<unknown> {
  return peer.ended(await peer.start(tool));
}

async function inSession(url: string, version: string, tool: string): Promise<unknown> {
  return (await SessionClient.open(url, { headers, version })).call(tool);
}

it.each(ways)("tells the handler of %s who called: %s", async (tool, _, call) => {
  const all: Seen[] = [];
  const { http, errors } = await serve({ tools: tools(all), http: { authenticate } });
  const answer = JSON.stringify(await call(http.url));
  expect(all).toEqual([{ by: tool, caller: seen, credentials: { secret } }]);
  for (const hidden of [token, secret, "acme"]) expect(answer).not.toContain(hidden);
  expect(errors).toEqual([]);
});

it("tells prepare, in each of its rounds, and then the handler", async () => {
  const all: Seen[] = [];
  const { http } = await serve({ tools: tools(all), http: { authenticate } });
  const peer = new StatelessClient(http.url, withToken);
  const caller = new PrepareCaller(peer);
  const round = await caller.round();
  const { result } = await caller.retry(round, { user_name: accept("Ada") });
  await peer.ended(String(result?.["taskId"]));
  expect(all).toEqual([
    { by: "prepare", caller: seen },
    { by: "greet", caller: seen, credentials: { secret } },
  ]);
});

it("stores the claims with the task, and neither token nor credentials", async () => {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-caller-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const options = { store: sqliteStore(join(directory, "tasks.db")) };
  const { http } = await serve({ tools: tools([]), http: { authenticate }, options });
  await endOf(new StatelessClient(http.url, withToken), "optional");
  await http.close();
  const names = (await readdir(directory, { recursive: true, withFileTypes: true })).filter((entry) =>
    entry.isFile(),
  );
  const files = await Promise.all(names.map(({ parentPath, name }) => readFile(join(parentPath, name))));
  const stored = Buffer.concat(files).toString("latin1");
  expect(stored).toContain('"org":"acme"');
  for (const hidden of [token, secret, "ann@example.com"]) expect(stored).not.toContain(hidden);
});

it.each([
  ["claims that are no object", { claims: "admin" as never }, 500],
  ["claims that JSON cannot carry", { claims: { since: new Date(0) } }, 200],
])("reports %s to whoever runs the server", async (_, wrong, status) => {
  const { http, errors } = await serve({
    tools: tools([]),
    http: { authenticate: async () => ({ principal: "ann", ...wrong }) },
  });
  const response = await new StatelessClient(http.url).call("optional").catch((error: unknown) => error);
  expect(response).toMatchObject({ status });
  expect(errors.map(String).join()).toContain("claims");
});

it("joins no call of the same principal with other claims: its data are others", async () => {
  let org = "acme";
  const { http } = await serve({
    tools: (tasks) => {
      tasks.tool("invoices", {}, async (_args, { caller }) => {
        await gates[String(caller.claims["org"])]?.promise;
        return text(`of ${String(caller.claims["org"])}`);
      });
    },
    http: { authenticate: async () => ({ principal: "ann", claims: { org } }) },
    options: { plainDeadlineMs: 20 },
  });
  const gates: Record<string, PromiseWithResolvers<void>> = { acme: Promise.withResolvers() };
  const peer = new StatelessClient(http.url);
  const call = async (): Promise<unknown> =>
    (await peer.call("invoices", {}, { capabilities: withoutTasks })).result;
  expect(await call()).toMatchObject({ structuredContent: { status: "working" } });
  org = "umbrella";
  expect(await call()).toMatchObject(text("of umbrella"));
  org = "acme";
  gates["acme"]?.resolve();
  expect(await call()).toMatchObject(text("of acme"));
});
