import { join } from "node:path";
import { fileHandles } from "../../client/handles/file-handles.ts";
import type { HandleStore, KeptCall } from "../../client/handles/handle-store.ts";
import type { Io } from "../io.ts";
import type { FoundServer, ServerSpec } from "../server/find-server.ts";
import { UsageError } from "../usage-error.ts";
import { KnownServers } from "./known-servers.ts";
import { PrintedHandles } from "./printed-handles.ts";
import { stateFolder } from "./state-folder.ts";

/** An unfinished task that was started here, or a call of which nobody knows whether it became one. */
export interface KnownTask {
  /** The task's; for a call without an answer its idempotency key. */
  readonly id: string;
  readonly call: KeptCall;
  /** Missing where what was written of it is lost, and its name does not lead to it. */
  readonly server: ServerSpec | undefined;
}

/** What this user has started and not seen the end of. */
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

  /** The store for a connection to that server. */
  handlesFor(server: FoundServer): PrintedHandles {
    return new PrintedHandles(this.#store, async () => this.#servers.keep(server));
  }

  /** The oldest first, with the files that cannot be read. */
  async list(): Promise<{ readonly tasks: readonly KnownTask[]; readonly damaged: readonly string[] }> {
    const { calls, damaged } = await this.#store.list();
    const tasks = calls.map(async (call): Promise<KnownTask> => {
      const server = await this.#servers.find(call.server);
      const named = /^https?:/.test(call.server) ? { given: call.server, cwd: this.#cwd } : undefined;
      return { id: call.taskId ?? call.key, call, server: server ?? named };
    });
    return { tasks: await Promise.all(tasks), damaged: damaged.map(({ name }) => name) };
  }

  /** The one task whose id is, or begins with, `prefix`; `server` narrows it down. Throws a UsageError for several, and for no prefix at all. */
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

  /** Takes it off the list; the task itself goes on. */
  async forget({ call }: KnownTask): Promise<void> {
    const { taskId } = call;
    await (taskId === null ? this.#store.drop(call) : this.#store.dropTask({ ...call, taskId }));
  }
}
