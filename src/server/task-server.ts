import type { McpRequestContext, McpServer } from "@modelcontextprotocol/server";
import { HoldfastError } from "../task/fault.ts";
import { readTaskIds } from "../generation/2026-07-28/listen.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { RuntimeOptions } from "../runtime/options.ts";
import type { Owner } from "./access.ts";
import { findsAll, scopesOfTasks } from "./named-tasks.ts";
import { errorsFor, type ErrorOf, type OnError } from "./answer.ts";
import { attach as attachToEarlier } from "./earlier/attach.ts";
import { voice as coreVoice } from "./2025-11-25/voice.ts";
import { TaskDesk } from "./desk/task-desk.ts";
import { attach as attachExtension } from "./2026-07-28/attach.ts";
import { loopDelay } from "./rates/loop-delay.ts";
import type { RateOptions } from "./rates/rate-options.ts";
import { Rates } from "./rates/rates.ts";
import { Companions } from "./plain/companions.ts";
import { PlainCalls } from "./plain/plain-calls.ts";
import type { PlainPolicies } from "./plain/policy.ts";
import { voice as plainVoice } from "./plain/voice.ts";
import type { HeldRequests } from "./sep-1686/held-requests.ts";
import { voice as sepVoice } from "./sep-1686/voice.ts";
import { noSession, onePipe, type Streams } from "./streams.ts";
import { ListenPlaces } from "./listen/listen-places.ts";
import { TaskFeed } from "./listen/task-feed.ts";

/** Creates the author's own server: for each request or session over HTTP, for each connection on stdio. */
export type ServerFactory = (context: McpRequestContext) => McpServer | Promise<McpServer>;

/** The author's servers with the task tools added, for `serveHttp` and `serveStdio`. */
export interface TaskServer {
  readonly options: RuntimeOptions;
  readonly onError: OnError;
  /** What a caller is told of a fault; what it must not see goes to `onError`. */
  readonly errorOf: ErrorOf;
  readonly legacyErrorCodes: boolean;
  /** To be asked before a message is handed to a server that `create` made. */
  readonly rates: Rates;
  /** Whether a tool of that name stands for a method about tasks, for clients that have none. */
  readonly isCompanion: (tool: string) => boolean;
  /** Recovers what an earlier process left, and begins to run tasks. */
  start(): Promise<void>;
  /** Starts no more tasks, and lets handlers leave where they can; all else goes on until `stop`. */
  drain(): void;
  /** Ends in order within that many milliseconds; by default `stopDeadlineMs`. */
  stop(withinMs?: number): Promise<void>;
  /** Whether it has started and its store answers. */
  ready(): Promise<boolean>;
  /** A fresh server for one request or connection of `owner`. */
  create(context: McpRequestContext, owner: Owner, streams?: Streams): Promise<McpServer>;
  /** Requests that wait for the end of a task, however long that takes: no stop has to wait for them. */
  readonly waiting: number;
  /** What changes in those of the tasks that the owner may see; rejects with `limit_reached`. */
  listen(taskIds: unknown, owner: Owner): Promise<TaskFeed>;
  /** The scopes that are needed for the principal's tasks that a body, a message or a batch, asks something of. */
  scopesOfTasks(body: unknown, principal: string | null): Promise<ReadonlySet<string>>;
}

export interface TaskServerSetup {
  readonly runtime: Runtime;
  readonly factory: ServerFactory;
  readonly onError: OnError;
  readonly legacyErrorCodes: boolean;
  readonly requireTasks: boolean;
  readonly listRequiredTools: boolean;
  readonly rates: RateOptions;
  readonly maxListensPerPrincipal: number;
  readonly maxIdsPerListen: number;
  readonly policies: PlainPolicies;
  readonly held: HeldRequests;
}

/** A store that takes longer for a small read does not answer, for whoever looks after the process. */
const storeAnswerMs = 2_000;

export function createTaskServer({
  runtime,
  factory,
  onError,
  legacyErrorCodes,
  requireTasks,
  listRequiredTools,
  rates: rateOptions,
  maxListensPerPrincipal,
  maxIdsPerListen,
  policies,
  held,
}: TaskServerSetup): TaskServer {
  if (typeof factory !== "function") {
    throw new HoldfastError(
      "configuration",
      "tasks.server takes a function that returns a new server: tasks.server(() => new McpServer({ name, version })).",
    );
  }
  const errorOf = errorsFor(onError, legacyErrorCodes);
  const desk = new TaskDesk(runtime, onError, coreVoice);
  const sepDesk = new TaskDesk(runtime, onError, sepVoice);
  const { clock, options } = runtime;
  const isCompanion = (tool: string): boolean => policies.companion(tool) !== undefined;
  const rates = new Rates({
    rates: rateOptions,
    pollIntervalMs: options.pollIntervalMs,
    loopDelay: loopDelay(() => clock.now()),
    companion: (name) => policies.companion(name),
    finds: (message, principal) => findsAll(runtime, message, principal, isCompanion),
  });
  const plain = new PlainCalls(runtime, policies, onError);
  const companions = new Companions(runtime, plain, rates);
  const asking = new TaskDesk(runtime, onError, plainVoice);
  const places = new ListenPlaces(maxListensPerPrincipal);
  return {
    options,
    rates,
    isCompanion,
    onError,
    errorOf,
    legacyErrorCodes,
    get waiting() {
      return desk.waiting + sepDesk.waiting;
    },
    async start() {
      policies.assertNoCollision();
      await runtime.start();
    },
    drain: () => runtime.drain(),
    stop: (withinMs) => runtime.stop(withinMs),
    ready: () => runtime.ready(storeAnswerMs),
    async create(context, { principal, access }, streams = noSession) {
      try {
        const mcp = await factory(context);
        assertMade(mcp);
        policies.assertNoCollision();
        const attachment = { runtime, rates, principal, access, errorOf, onError, plain, companions };
        if (context.era === "modern")
          attachExtension(mcp, { ...attachment, listRequiredTools, pipe: streams === onePipe });
        else attachToEarlier(mcp, { ...attachment, desk, sepDesk, held, asking, streams, requireTasks });
        return mcp;
      } catch (error) {
        onError(error); // the caller only hears of an internal error
        throw error;
      }
    },
    scopesOfTasks: (body, principal) => scopesOfTasks(runtime, body, principal, isCompanion),
    async listen(taskIds, { principal, access }) {
      const ids = readTaskIds(taskIds, maxIdsPerListen);
      const giveBack = places.take(principal);
      try {
        const feed = await TaskFeed.open(runtime, { principal, scopes: access?.scopes }, ids, giveBack);
        rates.missed(principal, ids.length - feed.accepted.length);
        return feed;
      } catch (error) {
        giveBack();
        throw error;
      }
    },
  };
}

/** In JavaScript a factory without a `return` is found here first. */
function assertMade(mcp: McpServer | undefined): asserts mcp is McpServer {
  if (mcp?.server !== undefined) return;
  throw new HoldfastError(
    "configuration",
    "The function given to tasks.server() returned no McpServer. Return a new one on each call: tasks.server(() => new McpServer({ … })).",
  );
}
