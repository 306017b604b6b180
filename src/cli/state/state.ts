import { join, resolve } from "node:path";
import { homedir } from "node:os";
import { fileHandles } from "../../client/handles/file-handles.ts";
import type { HandleStore, KeptCall } from "../../client/handles/handle-store.ts";
import type { Io } from "../io.ts";
import type { FoundServer, ServerSpec } from "../server/find-server.ts";
import { UsageError } from "../errors.ts";
import { KnownServers } from "./known-servers.ts";
import { PrintedHandles } from "./printed-handles.ts";

/** An unfinished task that was started here, or a call without an answer. */
export interface KnownTask {
  /** The task's id; for a call without an answer its idempotency key. */
  readonly id: string;
  readonly call: KeptCall;
  /** Undefined if the record of the server is lost, and its name is no URL. */
  readonly server: ServerSpec | undefined;
}

/** The calls and tasks of this user whose outcome was not printed yet. */
export class State {
  readonly #store: HandleStore;
  readonly #servers: KnownServers;
  readonly #cwd: string;

  constructor(io: Io) {
    const folder = stateFolder(io);
    this.#store = fileHandles(join(folder, "handles"));
    this.#servers = new KnownServers(join(folder, "servers"));
    this.#cwd = io.cwd;
  }

  /** The handle store for a connection to that server. */
  handlesFor(server: FoundServer): PrintedHandles {
    return new PrintedHandles(this.#store, async () => this.#servers.keep(server));
  }

  /** The tasks, oldest first, and the files that cannot be read. */
  async list(): Promise<{ readonly tasks: readonly KnownTask[]; readonly damaged: readonly string[] }> {
    const { calls, damaged } = await this.#store.list();
    const tasks = calls.map(async (call): Promise<KnownTask> => {
      const server = await this.#servers.find(call.server);
      const named = /^https?:/.test(call.server) ? { given: call.server, cwd: this.#cwd } : undefined;
      return { id: call.taskId ?? call.key, call, server: server ?? named };
    });
    return { tasks: await Promise.all(tasks), damaged: damaged.map(({ name }) => name) };
  }

  /**
   * The task whose id is or begins with `prefix`, of `server` if given. Throws a UsageError for several matches and
   * an empty prefix.
   */
  async find(prefix: string, server?: string): Promise<KnownTask | undefined> {
    if (prefix === "")
      throw new UsageError("The id is empty: give a task's id, or its beginning; see holdfast ls.");
    const { tasks } = await this.list();
    const here = tasks.filter(({ call }) => server === undefined || call.server === server);
    const exact = here.filter(({ id }) => id === prefix);
    const found = exact.length > 0 ? exact : here.filter(({ id }) => id.startsWith(prefix));
    if (found.length <= 1) return found[0];
    const ids = found.map((task) => `${task.id} (${task.server?.given ?? task.call.server})`).join(", ");
    throw new UsageError(
      `Several tasks fit ${JSON.stringify(prefix)}: ${ids}. Give more of the id, or --server.`,
    );
  }

  /** Removes the task from the list. The task itself continues. */
  async forget({ call }: KnownTask): Promise<void> {
    const { taskId } = call;
    await (taskId === null ? this.#store.drop(call) : this.#store.dropTask({ ...call, taskId }));
  }
}

/** The folder of this user's unfinished tasks: `HOLDFAST_STATE`, or `holdfast` in the XDG state folder. */
export function stateFolder({ env, cwd }: Pick<Io, "env" | "cwd">): string {
  const asked = env["HOLDFAST_STATE"];
  if (asked !== undefined && asked !== "") return resolve(cwd, asked);
  return join(env["XDG_STATE_HOME"] || join(env["HOME"] || homedir(), ".local", "state"), "holdfast");
}
