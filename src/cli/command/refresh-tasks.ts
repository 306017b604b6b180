import { systemClock } from "../../client/clock.ts";
import { TaskClientError } from "../../client/task-client-error.ts";
import type { Context, ServerOptions } from "../context.ts";
import type { ListedTaskJson } from "../output/json-shapes.ts";
import { endsWithCommand, type FoundServer } from "../server/find-server.ts";
import { serverOfTask } from "../server/resolve-server.ts";
import { withConnection, withTerminal, type Session, type Workplace } from "../server/with-server.ts";
import type { KnownTask } from "../state/state.ts";
import { protocolFor } from "./task-commands.ts";

/** A task's status at its server. */
export type Refreshed = Pick<ListedTaskJson, "status" | "statusMessage">;

/** The number of servers to ask at the same time. */
const maxServers = 8;
/** The number of tasks to ask a server for at the same time. */
const maxRequests = 8;
/** How long each server may take, in seconds. */
const defaultTimeout = 30;

interface RefreshOptions extends ServerOptions {
  /** In seconds. */
  readonly timeout?: number;
}

/**
 * Asks the servers for the states of these tasks. Connects once to each server, or once for each form of the Tasks
 * protocol that its tasks have. A server that cannot be reached is a status of its tasks.
 */
export async function refreshTasks(
  context: Context,
  tasks: readonly KnownTask[],
  options: RefreshOptions,
): Promise<ReadonlyMap<KnownTask, Refreshed>> {
  const refreshed = new Map<KnownTask, Refreshed>();
  const grouped = Map.groupBy(tasks, ({ call, ...task }) =>
    JSON.stringify([call.server, protocolFor({ call, ...task })]),
  );
  const groups = await Promise.all(
    [...grouped.values()].map(async (ofServer): Promise<Group> => {
      const server = await serverOfTask(context, ofServer[0], options, { asks: false }).catch(
        (error: unknown) => {
          if (!context.output.json) context.output.note(`holdfast: ${textOf(error)}`);
          return undefined;
        },
      );
      return { tasks: ofServer, server };
    }),
  );
  const ownsServer = groups.some(({ server }) => server !== undefined && endsWithCommand(server));
  await withTerminal(context, { ownsServer, unfinished: () => "request" }, async (workplace) => {
    const ends = await inTurn(groups, maxServers, async (group) => {
      for (const [task, state] of await refreshGroup(context, group, options, workplace))
        refreshed.set(task, state);
    });
    // All connections are closed by now.
    for (const end of ends) if (end.status === "rejected") throw end.reason;
  });
  return refreshed;
}

/** Tasks that share a connection. */
interface Group {
  readonly tasks: readonly KnownTask[];
  /** Undefined if there is no known way to reach it. */
  readonly server: FoundServer | undefined;
}

async function refreshGroup(
  context: Context,
  { tasks, server }: Group,
  { timeout = defaultTimeout, ...options }: RefreshOptions,
  { terminal, signal: stopped }: Workplace,
): Promise<ReadonlyMap<KnownTask, Refreshed>> {
  const now = context.io.now();
  const refreshed = new Map<KnownTask, Refreshed>();
  if (server === undefined) return new Map(tasks.map((task) => [task, { status: "unreachable" }]));
  const deadline = systemClock.deadline(timeout * 1000);
  const signal = AbortSignal.any([stopped, deadline.signal]);
  try {
    const target = { server, protocol: protocolFor(tasks[0]), terminal, signal };
    await withConnection(context, target, options, async (session) => {
      await inTurn(tasks, maxRequests, async (task) => {
        refreshed.set(task, await stateOf(task, session, now));
      });
    });
  } catch (error) {
    for (const task of tasks) if (!refreshed.has(task)) refreshed.set(task, explain(error, task, now));
  } finally {
    deadline.clear();
  }
  stopped.throwIfAborted();
  return refreshed;
}

async function stateOf(task: KnownTask, session: Session, now: number): Promise<Refreshed> {
  const { call } = task;
  if (call.taskId === null) return {};
  const { client, signal, saw, sawNone } = session;
  try {
    const handle = await client.resume({ ...call, taskId: call.taskId });
    const state = await handle.get({ signal });
    saw(handle.reference, state);
    const { status, statusMessage } = state;
    return { status, ...(statusMessage !== undefined && { statusMessage }) };
  } catch (error) {
    const { status } = explain(error, task, now);
    if (status === "lost" || status === "expired") sawNone(call, status);
    return { ...(status && { status }) };
  }
}

function explain(error: unknown, { call: { expiresAt = Infinity } }: KnownTask, now: number): Refreshed {
  if (!(error instanceof TaskClientError)) return { status: "unreachable" };
  switch (error.code) {
    case "unauthorized":
      return { status: "unauthorized" };
    case "expired":
      return { status: "expired" };
    case "unknown_task":
      // A server gives the same answer for a task of another caller.
      return { status: expiresAt <= now ? "expired" : "lost" };
    default:
      return { status: "unreachable" };
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Runs `work` for each item, with limited concurrency, and waits for all of them. */
async function inTurn<Item>(
  items: readonly Item[],
  most: number,
  work: (item: Item) => Promise<void>,
): Promise<readonly PromiseSettledResult<void>[]> {
  const queue = items.values();
  const worker = async (): Promise<void> => {
    for (const item of queue) await work(item);
  };
  return Promise.allSettled(Array.from({ length: Math.min(most, items.length) }, worker));
}
