import { ProtocolError } from "@modelcontextprotocol/client";
import { clientGenerations } from "../client/generations.ts";
import { TaskClientError } from "../client/task-client-error.ts";
import { listTools } from "./command/find-tool.ts";
import { taskSupport } from "./command/tools.ts";
import type { TransportKind } from "../client/client-events.ts";
import type { CheckJson } from "./output/json-shapes.ts";
import { declaredTasks, generationOf, recognisesRepeats } from "./server/server-capabilities.ts";
import type { Session } from "./server/with-server.ts";
import { describeRpcError } from "../client/reply/reply.ts";
import { throwIfLost } from "./server/sdk-errors.ts";

/** What the server learns about the caller. */
export interface Caller {
  readonly sendsToken: boolean;
  /** The login and how long it lasts; undefined without one, or if a token is sent instead. */
  readonly login: string | undefined;
}

const connections: Readonly<Record<TransportKind, string>> = {
  http: "over HTTP",
  "http+sse": "over HTTP+SSE, the transport of 2024-11-05",
  stdio: "to a process over stdio",
};

/** Checks everything about a server that needs no tool call. */
export async function examine(session: Session, caller: Caller): Promise<readonly CheckJson[]> {
  const { client, transport, server } = session;
  const { sdk } = client;
  const isHttp = typeof server.target === "string";
  const { name = "?", version = "?" } = sdk.getServerVersion() ?? {};
  const isModern = sdk.getProtocolEra() === "modern";
  const declared = Object.keys(sdk.getServerCapabilities() ?? {}).join(", ");
  return [
    { check: "connection", works: true, detail: connections[transport ?? "http"] },
    { check: "server", works: null, detail: `${name} ${version}` },
    {
      check: "protocol",
      works: true,
      detail: `${sdk.getNegotiatedProtocolVersion()}, ${isModern ? "without a session" : "with a handshake"}`,
    },
    authorization(isHttp, caller),
    { check: "features", works: null, detail: declared === "" ? "declares none" : `declares ${declared}` },
    await tools(session),
    ...(await tasks(session)),
  ];
}

function authorization(isHttp: boolean, { sendsToken, login }: Caller): CheckJson {
  const check = "authorization";
  if (!isHttp) return { check, works: null, detail: "not needed over stdio" };
  if (login !== undefined) return { check, works: true, detail: `logged in at ${login}` };
  const detail = sendsToken
    ? "the credentials were accepted"
    : "no credentials were sent, and the server required none";
  return { check, works: true, detail };
}

async function tools({ client, signal }: Session): Promise<CheckJson> {
  const check = "tools";
  const found = await listTools(client, signal).catch((error: unknown) => {
    if (error instanceof TaskClientError && error.code === "unauthorized") return error;
    throw error;
  });
  if (found instanceof TaskClientError) return { check, works: false, detail: found.message };
  const support = taskSupport(client);
  const { tools: listed, problems } = found;
  if (problems.length > 0) return { check, works: false, detail: problems.join("; ") };
  const taskTools = listed.filter((tool) => support(tool) === "optional" || support(tool) === "required");
  const names = taskTools.map((tool) => `${tool.name} (${support(tool)})`).join(", ");
  const count = `${listed.length} ${listed.length === 1 ? "tool" : "tools"}`;
  if (declaredTasks(client) === undefined) return { check, works: true, detail: count };
  if (client.sdk.getProtocolEra() === "modern") {
    return {
      check,
      works: true,
      detail: `${count}; the server decides for each call whether it becomes a task`,
    };
  }
  return { check, works: true, detail: `${count}; those called as tasks: ${names || "none"}` };
}

async function tasks(session: Session): Promise<readonly CheckJson[]> {
  const { client } = session;
  const declared = declaredTasks(client);
  if (declared === undefined) {
    const canBeDeclared = clientGenerations[generationOf(client)].serverTasks !== undefined;
    const reason = canBeDeclared
      ? "the server does not declare them for tools"
      : `protocol ${client.sdk.getNegotiatedProtocolVersion()} has none`;
    return [{ check: "tasks", works: false, detail: `${reason}, so a call ends when its connection does` }];
  }
  const known = await probe(session, "tasks/get", { taskId: "holdfast-doctor" });
  const { title, cancels, lists, listens } = declared;
  const answers = known.kind === "error" && known.code !== -32601;
  const get: CheckJson = {
    check: "tasks",
    works: answers,
    detail: answers
      ? `declared, as in ${title}`
      : `declared, as in ${title}, but tasks/get for an unknown task gave ${known.description}`,
  };
  return [
    get,
    { check: "cancel", works: cancels, detail: cancels ? "tasks can be cancelled" : "not declared" },
    lists === undefined
      ? { check: "list", works: false, detail: "the tasks extension cannot list tasks" }
      : await list(session, lists),
    listens
      ? await probeListening(session)
      : {
          check: "pushes",
          works: null,
          detail: "the server does not say whether it pushes updates, so tasks are polled",
        },
    recognisesRepeats(client)
      ? {
          check: "repeats",
          works: true,
          detail: "a call whose answer is lost can be sent again without running twice",
        }
      : {
          check: "repeats",
          works: false,
          detail:
            "the server does not recognise repeated calls, so a call whose answer is lost is not sent again",
        },
  ];
}

async function list(session: Session, isDeclared: boolean): Promise<CheckJson> {
  const check = "list";
  if (!isDeclared)
    return {
      check,
      works: false,
      detail: "not declared, which is usual for servers that do not identify callers",
    };
  const answer = await probe(session, "tasks/list", {});
  if (answer.kind === "error")
    return { check, works: false, detail: `declared, but tasks/list gave ${answer.description}` };
  return { check, works: true, detail: "the server lists this caller's tasks" };
}

type ProbeAnswer =
  | { readonly kind: "result"; readonly description: string }
  /** `code`: the JSON-RPC code, if it is a JSON-RPC error. */
  | { readonly kind: "error"; readonly code: number | undefined; readonly description: string };

const anything = {
  "~standard": { version: 1, vendor: "holdfast", validate: (value: unknown) => ({ value }) },
} as const;

/** Sends one request, and describes the answer. */
export async function probe(
  { client, signal }: Session,
  method: string,
  params: Readonly<Record<string, unknown>>,
): Promise<ProbeAnswer> {
  try {
    await client.sdk.request({ method, params }, anything, { signal });
    return { kind: "result", description: "a result" };
  } catch (error) {
    signal.throwIfAborted();
    throwIfLost(error);
    if (error instanceof ProtocolError)
      return { kind: "error", code: error.code, description: describeRpcError(error) };
    const description = error instanceof Error ? error.message : String(error);
    return { kind: "error", code: undefined, description };
  }
}

/** Whether the server accepts `subscriptions/listen`. Only a real task shows which tasks it pushes. */
export async function probeListening({ client, signal }: Session): Promise<CheckJson> {
  const check = "pushes";
  try {
    const subscription = await client.sdk.listen({}, { signal });
    await subscription.close();
    return { check, works: true, detail: "the server pushes updates (subscriptions/listen)" };
  } catch (error) {
    signal.throwIfAborted();
    throwIfLost(error);
    const message = error instanceof Error ? error.message : String(error);
    return { check, works: false, detail: `tasks are polled, since subscriptions/listen gave ${message}` };
  }
}
