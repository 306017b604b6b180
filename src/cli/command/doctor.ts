import { ProtocolError, SdkError, SdkErrorCode } from "@modelcontextprotocol/client";
import { resolve } from "node:path";
import { TaskClientError } from "../../client/task-client-error.ts";
import { clientGenerations } from "../../client/generations.ts";
import { listTools } from "./call.ts";
import { taskSupport } from "./tools.ts";
import type { TransportKind } from "../../client/client-events.ts";
import {
  declaredTasks,
  generationOf,
  recognisesRepeats,
  type Session,
  withServer,
  request,
  serverInfo,
} from "../server/with-server.ts";
import { describeRpcError } from "../../client/reply/reply.ts";
import { loginName } from "../../client/auth/login.ts";
import type { Given } from "../commands.ts";
import type { Context } from "../context.ts";
import { type ExitCode, exitCodeOf, exitCodes } from "../errors.ts";
import type { Finding } from "../../serve/source.ts";
import { sayingMistakes } from "./serve.ts";
import { existingDatabase } from "../../store/sqlite/open-file.ts";
import { filesAtRisk, folderAtRisk } from "../../store/sqlite/private-files.ts";
import { placeOfStore } from "../../store/from-url.ts";
import { stateFolder } from "../io.ts";
import type { Output } from "../output/output.ts";
import { howLong } from "./login.ts";
import type { FoundServer } from "../server/find-server.ts";
import { resolveServer, hasAuthorization, readCredentials } from "../server/resolve-server.ts";
import { wrapped } from "../output/table.ts";
import { systemClock } from "../../client/clock.ts";
import type { TaskClient } from "../../client/task-client.ts";

const ended: ReadonlySet<string> = new Set([SdkErrorCode.ConnectionClosed, SdkErrorCode.NotConnected]);

/** Throws `connection` if a request failed because the connection ended or timed out. */
function throwIfLost(cause: unknown): void {
  if (!(cause instanceof SdkError)) return;
  if (ended.has(cause.code)) {
    throw new TaskClientError("connection", "The connection ended: the server, or its process, is gone", {
      cause,
    });
  }
  if (cause.code === SdkErrorCode.RequestTimeout) {
    throw new TaskClientError("connection", "The server did not answer in time", { cause });
  }
}

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

const yes = (check: string, detail: string): Finding => ({ check, works: true, detail });

const no = (check: string, detail: string): Finding => ({ check, works: false, detail });

/** What cannot be known, or only informs. */
const info = (check: string, detail: string): Finding => ({ check, works: null, detail });

/** Checks everything about a server that needs no tool call. */
async function examine(session: Session, caller: Caller): Promise<readonly Finding[]> {
  const { client, transport, server } = session;
  const { sdk } = client;
  const { name = "?", version = "?" } = sdk.getServerVersion() ?? {};
  const how = sdk.getProtocolEra() === "modern" ? "without a session" : "with a handshake";
  const declared = Object.keys(sdk.getServerCapabilities() ?? {}).join(", ");
  return [
    yes("connection", connections[transport ?? "http"]),
    info("server", `${name} ${version}`),
    yes("protocol", `${sdk.getNegotiatedProtocolVersion()}, ${how}`),
    authorization(typeof server.target === "string", caller),
    info("features", declared === "" ? "declares none" : `declares ${declared}`),
    await tools(session),
    ...(await taskChecks(session)),
  ];
}

function authorization(isHttp: boolean, { sendsToken, login }: Caller): Finding {
  const check = "authorization";
  if (!isHttp) return info(check, "not needed over stdio");
  if (login !== undefined) return yes(check, `logged in at ${login}`);
  return yes(
    check,
    sendsToken ? "the credentials were accepted" : "no credentials were sent, and the server required none",
  );
}

async function tools({ client, signal }: Session): Promise<Finding> {
  const check = "tools";
  const found = await listTools(client, signal).catch((error: unknown) => {
    if (error instanceof TaskClientError && error.code === "unauthorized") return error;
    throw error;
  });
  if (found instanceof TaskClientError) return no(check, found.message);
  const support = taskSupport(client);
  const { tools: listed, problems } = found;
  if (problems.length > 0) return no(check, problems.join("; "));
  const taskTools = listed.filter((tool) => support(tool) === "optional" || support(tool) === "required");
  const names = taskTools.map((tool) => `${tool.name} (${support(tool)})`).join(", ");
  const count = `${listed.length} ${listed.length === 1 ? "tool" : "tools"}`;
  if (declaredTasks(client) === undefined) return yes(check, count);
  if (client.sdk.getProtocolEra() === "modern")
    return yes(check, `${count}; the server decides for each call whether it becomes a task`);
  return yes(check, `${count}; those called as tasks: ${names || "none"}`);
}

async function taskChecks(session: Session): Promise<readonly Finding[]> {
  const { client } = session;
  const declared = declaredTasks(client);
  if (declared === undefined) {
    const canBeDeclared = clientGenerations[generationOf(client)].serverTasks !== undefined;
    const reason = canBeDeclared
      ? "the server does not declare them for tools"
      : `protocol ${client.sdk.getNegotiatedProtocolVersion()} has none`;
    return [no("tasks", `${reason}, so a call ends when its connection does`)];
  }
  const known = await probe(session, "tasks/get", { taskId: "holdfast-doctor" });
  const { title, cancels, lists, listens } = declared;
  return [
    known.kind === "error" && known.code !== -32601
      ? yes("tasks", `declared, as in ${title}`)
      : no("tasks", `declared, as in ${title}, but tasks/get for an unknown task gave ${known.description}`),
    cancels ? yes("cancel", "tasks can be cancelled") : no("cancel", "not declared"),
    lists === undefined ? no("list", "the tasks extension cannot list tasks") : await list(session, lists),
    listens
      ? await probeListening(session)
      : info("pushes", "the server does not say whether it pushes updates, so tasks are polled"),
    recognisesRepeats(client)
      ? yes("repeats", "a call whose answer is lost can be sent again without running twice")
      : no(
          "repeats",
          "the server does not recognise repeated calls, so a call whose answer is lost is not sent again",
        ),
  ];
}

async function list(session: Session, isDeclared: boolean): Promise<Finding> {
  if (!isDeclared) return no("list", "not declared, which is usual for servers that do not identify callers");
  const answer = await probe(session, "tasks/list", {});
  if (answer.kind === "error") return no("list", `declared, but tasks/list gave ${answer.description}`);
  return yes("list", "the server lists this caller's tasks");
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
export async function probeListening({ client, signal }: Session): Promise<Finding> {
  try {
    const subscription = await client.sdk.listen({}, { signal });
    await subscription.close();
    return yes("pushes", "the server pushes updates (subscriptions/listen)");
  } catch (error) {
    signal.throwIfAborted();
    throwIfLost(error);
    const message = error instanceof Error ? error.message : String(error);
    return no("pushes", `tasks are polled, since subscriptions/listen gave ${message}`);
  }
}

/**
 * `holdfast doctor SERVER`: tests what works with a server, and says what does not and why. `holdfast doctor sqlite:PATH`: whether other
 * users can get at the files of a store. `holdfast doctor tools.yaml`: what works of all that a file of tools needs.
 */
export async function doctor(context: Context, { server, options }: Given<"doctor">): Promise<ExitCode> {
  const { output } = context;
  if (server.startsWith("sqlite:")) return doctorOfStore(context, server);
  if (/^[^:\s]+\.(ya?ml|json)$/i.test(server)) return doctorOfFile(context, server);
  const asked = await resolveServer(context, server, options);
  const credentials = readCredentials(asked, options, context.io.env);
  const sendsToken = credentials.token !== undefined || Object.keys(credentials.headers).length > 0;
  try {
    await withServer(context, { server: asked }, options, async (session) => {
      const { client, terminal } = session;
      // Asked afterwards, because an expired token is renewed by now.
      const login = hasAuthorization(credentials) ? undefined : await loginTo(asked, context);
      const checks = [...(await examine(session, { sendsToken, login })), ...ownFiles(context)];
      terminal.display.end();
      const protocolVersion = client.sdk.getNegotiatedProtocolVersion() ?? "";
      const tasks = declaredTasks(client) === undefined ? null : generationOf(client);
      await report({ server: asked.shown, connected: true, protocolVersion, tasks, checks }, output);
    });
    return exitCodes.done;
  } catch (error) {
    if (!(error instanceof TaskClientError)) throw error;
    const checks = [no("connection", error.message)];
    return report({ server: asked.shown, connected: false, checks }, output, exitCodeOf(error.code));
  }
}

async function loginTo({ target }: FoundServer, { state, io }: Context): Promise<string | undefined> {
  if (typeof target !== "string") return undefined;
  const login = await state.logins.load(loginName(new URL(target)));
  return login === undefined ? undefined : `${login.issuer}, ${howLong(login, io.now())}`;
}

async function doctorOfStore({ output, io }: Context, store: string): Promise<ExitCode> {
  const place = placeOfStore(store, (path) => resolve(io.cwd, path));
  const risks = place.kind === "sqlite" ? filesAtRisk(existingDatabase(place.path)) : [];
  const isFine = risks.length === 0;
  const found = isFine
    ? yes("files", "no other user can read or change them")
    : no("files", risks.join("; "));
  return report({ store, checks: [found] }, output);
}

/** `holdfast doctor tools.yaml`. */
async function doctorOfFile({ output, io }: Context, file: string): Promise<ExitCode> {
  const checks = await sayingMistakes(async () => {
    const [{ toolsFileAt }, { checkServed }] = await Promise.all([
      import("../../serve/file/serve-file.ts"),
      import("./serve.ts"),
    ]);
    return checkServed(toolsFileAt(resolve(io.cwd, file), io.env), io.env);
  });
  const isWrong = checks.some(({ works }) => works === false);
  return report({ file, checks }, output, isWrong ? exitCodes.usage : exitCodes.done);
}

/** Only if something is wrong with what this command keeps. */
function ownFiles({ io }: Context): readonly Finding[] {
  const risks = folderAtRisk(stateFolder(io));
  if (risks.length === 0) return [];
  return [no("files", `${risks.join("; ")}, where this command keeps calls`)];
}

async function report(
  document: { readonly checks: readonly Finding[] } & Readonly<Record<string, unknown>>,
  output: Output,
  code: ExitCode = exitCodes.done,
): Promise<ExitCode> {
  const { checks } = document;
  const width = Math.max(15, ...checks.map(({ check }) => check.length + 2));
  const text = checks.map((each) => lines(each, width, output.columns)).join("");
  return output.say({ json: document, text, code });
}

function lines({ check, works, detail }: Finding, width: number, columns: number | undefined): string {
  const sign = works === null ? "-" : works ? "yes" : "no";
  const head = `${check.padEnd(width)}${sign.padEnd(5)}`;
  return `${head}${wrapped(detail, head.length, columns).slice(head.length)}\n`;
}

/** `holdfast ping SERVER` */
export async function ping(context: Context, { server, options }: Given<"ping">): Promise<ExitCode> {
  const asked = await resolveServer(context, server, options);
  const { output } = context;
  const start = systemClock.elapsed();
  return withServer(context, { server: asked }, options, async ({ client, signal, terminal }) => {
    const connected = systemClock.elapsed();
    await askForAnything(client, signal);
    const shown = serverInfo(client);
    const protocolVersion = client.sdk.getNegotiatedProtocolVersion() ?? "";
    const connectMs = Math.round(connected - start);
    const pingMs = Math.round(systemClock.elapsed() - connected);
    terminal.display.end();
    const name = [shown.name, shown.version].filter((part) => part !== "").join(" ") || "the server";
    return output.say({
      json: { server: shown, protocolVersion, connectMs, pingMs },
      text: `${name} answers in ${pingMs} ms, over MCP ${protocolVersion}\nconnecting took ${connectMs} ms\n`,
    });
  });
}

/** Revision 2026-07-28 has no ping, so another request shows whether the server answers. */
async function askForAnything({ sdk }: TaskClient, signal: AbortSignal): Promise<void> {
  await request(
    async (how) => (sdk.getProtocolEra() === "modern" ? sdk.discover(how) : sdk.ping(how)),
    signal,
  );
}
