import { McpServer, type Server } from "@modelcontextprotocol/server";
import type { Admin } from "../admin/operations.ts";
import { listenMethod } from "../generation/2026-07-28-listen.ts";
import { taskMethods, readCapabilities } from "../generation/2026-07-28.ts";
import { isJsonObject } from "../generation/message.ts";
import { HoldfastError } from "../task/fault.ts";
import type { ServerEvents } from "../runtime/events/server-events.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { AuthorServers, serves as isServedBy, type ServerFactory } from "./author-server.ts";
import { findsAll, scopesOfTasks } from "./named-tasks.ts";
import { errorsFor, type OnError, refusalOf } from "./faults.ts";
import { DispatchedServer } from "./dispatch/dispatch-transport.ts";
import { extensions, linesAnnouncement, toolsOfRequest } from "./dispatch/merge.ts";
import { SessionDispatcher } from "./sessions/session-dispatcher.ts";
import { sessionSubscriptions } from "./sessions/session-requests.ts";
import { Dispatcher } from "./2026-07-28/dispatcher.ts";
import { PipeDispatcher } from "./2026-07-28/pipe-dispatcher.ts";
import { readMethod } from "./task-resources.ts";
import type { TaskServer } from "./task-server.ts";
import { ServerIdentity } from "./server-identity.ts";
import { measureLoopDelay, Rates } from "./rates.ts";
import { rateOptions } from "./limits.ts";
import { settingsOf } from "../options/options.ts";
import type { TaskSettings } from "./tasks-options.ts";
import { PollingTools } from "./plain/polling-tools.ts";
import { PlainCalls } from "./plain/plain-calls.ts";
import type { PlainPolicies } from "./plain/plain-policies.ts";
import type { RequestForwarder } from "./sep-1686/forwarded-requests.ts";
import { calledTool } from "./request.ts";
import { noSession, onePipe } from "./streams.ts";
import { ConnectionTraces, RequestTracing, tracedServer } from "./tracing.ts";
import { ListChanges } from "./tool-list.ts";
import { ListenSlots, openListening } from "./listen/listening.ts";

export interface TaskServerSetup {
  readonly runtime: Runtime;
  readonly admin: Admin;
  readonly factory: ServerFactory<McpServer | Server>;
  readonly onError: OnError;
  /** Receives refused requests. */
  readonly events?: ServerEvents | undefined;
  readonly settings: Pick<
    TaskSettings,
    | "legacyErrorCodes"
    | "requireTasks"
    | "listRequiredTools"
    | "rates"
    | "maxListensPerPrincipal"
    | "maxIdsPerListen"
  >;
  readonly policies: PlainPolicies;
  readonly forwarder: RequestForwarder;
}

/** Requests that change nothing, no matter what answers them. */
const repeatable: readonly string[] = [
  "ping",
  "tools/list",
  "resources/list",
  "resources/templates/list",
  "prompts/list",
  "tasks/result",
];

/** How long the store may take for a small read in a readiness check, in ms. */
const storeAnswerMs = 2_000;

export function createTaskServer({
  runtime,
  admin,
  factory,
  onError,
  events,
  settings,
  policies,
  forwarder,
}: TaskServerSetup): TaskServer {
  if (typeof factory !== "function") {
    throw new HoldfastError(
      "configuration",
      "tasks.server takes a function that returns a new server: tasks.server(() => new McpServer({ name, version })).",
    );
  }
  const { legacyErrorCodes, requireTasks, listRequiredTools, maxIdsPerListen } = settings;
  const errorOf = errorsFor(onError, legacyErrorCodes);
  const subscriptions = sessionSubscriptions(runtime, onError);
  const { clock, options, telemetry, traces } = runtime;
  const isPollingTool = (tool: string): boolean => policies.pollingTool(tool) !== undefined;
  const rates = new Rates({
    rates: settingsOf(rateOptions, settings.rates ?? {}),
    pollIntervalMs: options.pollIntervalMs,
    loopDelay: measureLoopDelay(() => clock.elapsed()),
    pollingTool: (name) => policies.pollingTool(name),
    finds: (message, principal) => findsAll(runtime, message, principal, isPollingTool),
  });
  const plain = new PlainCalls(runtime, policies, onError);
  const pollingTools = new PollingTools(runtime, plain, rates);
  const { registry } = runtime;
  const dispatcher = new Dispatcher({ runtime, rates, plain, pollingTools, errorOf, events });
  const identity = new ServerIdentity();
  const changes = new ListChanges(registry, clock, onError);
  const parts = { registry, policies, changes, onError };
  const authors = new AuthorServers({ factory, ...parts });
  const nobodys = new AuthorServers({
    factory: () => new McpServer({ name: "holdfast", version: "0" }),
    ...parts,
  });
  let checked: Promise<void> | undefined;
  const slots = new ListenSlots(settings.maxListensPerPrincipal);
  const services = {
    runtime,
    rates,
    plain,
    pollingTools,
    subscriptions,
    forwarder,
    requireTasks,
    errorOf,
    onError,
    events,
  };
  const amendmentFor: TaskServer["amendmentFor"] = (method, params) => {
    const capabilities = readCapabilities(params) ?? {};
    return method === "tools/list"
      ? (result) => toolsOfRequest(capabilities, result, { registry, policies, listRequiredTools })
      : linesAnnouncement(method, params, capabilities);
  };
  const isTool = (name: string): boolean => registry.get(name) !== undefined || isPollingTool(name);
  const tracing = telemetry && traces && new RequestTracing({ tracing: telemetry.tracing, traces, isTool });
  const openSession: TaskServer["openSession"] = async (context, owner, streams = noSession) => {
    const session = streams.sessionKey;
    const { mcp, follow } = await authors.make(context, { principal: owner.principal, session }, []);
    const serves = (method: string): boolean => isServedBy(mcp, method);
    const sessionDispatcher = new SessionDispatcher(services, owner, streams, serves);
    const version = (): string | undefined => sessionDispatcher.protocolVersion;
    const isReady = (): boolean => version() !== undefined;
    const transport = context.requestInfo === undefined ? "stdio" : "http";
    const open = tracing && new ConnectionTraces({ tracing, transport, version });
    return new DispatchedServer(mcp, sessionDispatcher, () => follow({ isReady, streams }), open);
  };
  /** The client only gets an internal error. */
  const reported = <T>(made: Promise<T>): Promise<T> =>
    made.catch((error: unknown) => {
      onError(error);
      throw error;
    });
  const pipes = { dispatcher, identity, errorOf, amendmentFor, clock };
  const create: TaskServer["create"] = async (context, owner, streams) => {
    if (context.era === "legacy") return (await openSession(context, owner, streams)).server;
    const { principal } = owner;
    const caller = { principal, session: undefined };
    const { mcp, follow } = await authors.make(context, caller, taskMethods, {
      extensions: extensions(registry, options),
    });
    // Over HTTP, what is ours never gets here.
    if (context.requestInfo !== undefined) return tracing === undefined ? mcp : tracedServer(mcp, tracing);
    const pipe = new PipeDispatcher({ ...pipes, principal, reserve: streams?.reserve });
    const onConnected = (): (() => void) => follow({ isReady: () => true, streams: onePipe });
    const open = tracing && new ConnectionTraces({ tracing, transport: "stdio" });
    return new DispatchedServer(mcp, pipe, onConnected, open).server;
  };
  return {
    clock,
    options,
    admin,
    rates,
    isPollingTool,
    onError,
    events,
    errorOf,
    tracing,
    legacyErrorCodes,
    dispatcher,
    identity,
    secret: (name) => runtime.secret(name),
    sessionStore: runtime.sessions,
    declaresHeaders(name) {
      const tool = registry.get(String(name));
      return tool !== undefined && authors.declaresHeaders(tool);
    },
    onListChange: (listener) => changes.subscribe(listener),
    async verdictServer() {
      const nobody = { principal: "", session: undefined };
      const ours = [...taskMethods, readMethod];
      return (await nobodys.make({ era: "modern" }, nobody, ours, { resources: {} })).mcp;
    },
    amendmentFor,
    get waiting() {
      return Object.values(subscriptions).reduce((sum, { waiting }) => sum + waiting, 0);
    },
    async start() {
      policies.assertNoCollision();
      await (checked ??= authors.check());
      await runtime.start();
    },
    drain: () => runtime.drain(),
    stop: (withinMs) => runtime.stop(withinMs),
    get isDrained() {
      return runtime.isDrained;
    },
    ready: () => runtime.ready(storeAnswerMs),
    openSession: (context, owner, streams) => reported(openSession(context, owner, streams)),
    create: (context, owner, streams) => reported(create(context, owner, streams)),
    poll: (request, owner, streams, extra) =>
      new SessionDispatcher(services, owner, streams).answer(request, extra, tracing),
    isRepeatable: ({ method, params = {} }) =>
      repeatable.includes(method) ||
      (method === "tools/call" &&
        policies.pollingTool(calledTool(params)) === "result" &&
        isJsonObject(params["arguments"]) &&
        params["arguments"]["answer"] === undefined),
    scopesOfTasks: (body, principal) => scopesOfTasks(runtime, body, principal, isPollingTool),
    async listen(asked, owner) {
      const { principal } = owner;
      const refused = (error: unknown): never => {
        events?.emit(refusalOf(error, { principal, method: listenMethod }));
        throw error;
      };
      const terms = { runtime, slots, maxIdsPerListen };
      const listening = await openListening(asked, owner, terms).catch(refused);
      rates.missed(principal, listening.missed);
      return listening;
    },
  };
}
