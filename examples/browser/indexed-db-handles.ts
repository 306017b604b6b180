import type { HandleStore, InputResult, ResumableSession, StoredCall, TaskReference } from "holdfast/client";

/** How the database keeps a call: without a task, its `task` is in no index. */
interface CallRow {
  readonly call: StoredCall;
  readonly task?: string[];
}

/**
 * A handle store for pages and workers: `connect(url, { handles: indexedDbHandles() })`. A page that is opened again finds the calls of the one before
 * with `client.pending()`, and all tabs of an origin share it.
 */
export function indexedDbHandles(name = "holdfast"): HandleStore {
  let opening: Promise<IDBDatabase> | undefined;

  function opened(): Promise<IDBDatabase> {
    if (opening !== undefined) return opening;
    const again = (): void => {
      opening = undefined;
    };
    opening = open(name, again);
    opening.catch(again);
    return opening;
  }

  /** Resolves once what `work` does is on disk. It awaits nothing but requests of the transaction, which would end otherwise. */
  async function within<T>(
    mode: "readonly" | "readwrite",
    work: (transaction: IDBTransaction) => Promise<T>,
  ): Promise<T> {
    const database = await opened();
    const transaction = database.transaction(["calls", "answers", "sessions"], mode, {
      durability: "strict",
    });
    const done = new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error ?? new Error("The change was not stored"));
    });
    const [value] = await Promise.all([work(transaction), done]);
    return value;
  }

  return {
    async keep(call) {
      return within("readwrite", async (transaction) => {
        const calls = transaction.objectStore("calls");
        const known = (await valueOf<CallRow | undefined>(calls.get(keyOf(call))))?.call;
        const taskId = call.taskId ?? known?.taskId ?? null;
        const kept = { ...call, taskId, startedAt: known?.startedAt ?? call.startedAt };
        const row: CallRow = { call: kept, ...(taskId !== null && { task: taskKey({ ...call, taskId }) }) };
        await valueOf(calls.put(row, keyOf(call)));
        return known === undefined || known.taskId !== null;
      });
    },
    async drop(call) {
      await within("readwrite", async (transaction) => {
        const calls = transaction.objectStore("calls");
        const known = await valueOf<CallRow | undefined>(calls.get(keyOf(call)));
        if (known?.call.taskId === null) await valueOf(calls.delete(keyOf(call)));
      });
    },
    async dropTask(task) {
      await within("readwrite", async (transaction) => {
        const calls = transaction.objectStore("calls");
        const keys = await valueOf<IDBValidKey[]>(calls.index("task").getAllKeys(taskKey(task)));
        for (const key of keys) await valueOf(calls.delete(key));
        const [from, to] = [taskKey(task), [...taskKey(task), []]];
        await valueOf(transaction.objectStore("answers").delete(IDBKeyRange.bound(from, to)));
      });
    },
    async list() {
      const rows = await within("readonly", async (transaction) =>
        valueOf<CallRow[]>(transaction.objectStore("calls").getAll()),
      );
      const calls = rows.map(({ call }) => call);
      return { calls: calls.toSorted((one, other) => one.startedAt - other.startedAt), damaged: [] };
    },
    async find(task) {
      const row = await within("readonly", async (transaction) =>
        valueOf<CallRow | undefined>(transaction.objectStore("calls").index("task").get(taskKey(task))),
      );
      return row?.call;
    },
    async usesSession({ server, origin, id }) {
      const { calls } = await this.list();
      return calls.some(
        (call) =>
          call.server === server &&
          call.taskId !== null &&
          call.sessionId === id &&
          call.sessionOrigin === origin,
      );
    },
    async keepSession(session) {
      await within("readwrite", async (transaction) =>
        valueOf(transaction.objectStore("sessions").put(session, [session.server, session.generation])),
      );
    },
    async findSession(server, generation) {
      return within("readonly", async (transaction) =>
        valueOf<ResumableSession | undefined>(transaction.objectStore("sessions").get([server, generation])),
      );
    },
    async dropSession({ server, generation, id }) {
      return within("readwrite", async (transaction) => {
        const sessions = transaction.objectStore("sessions");
        const found = await valueOf<ResumableSession | undefined>(sessions.get([server, generation]));
        if (found?.id !== id) return false;
        await valueOf(sessions.delete([server, generation]));
        return true;
      });
    },
    async keepAnswer(task, question, answer) {
      await within("readwrite", async (transaction) =>
        valueOf(transaction.objectStore("answers").put(answer, [...taskKey(task), question])),
      );
    },
    async answer(task, question) {
      return within("readonly", async (transaction) =>
        valueOf<InputResult | undefined>(
          transaction.objectStore("answers").get([...taskKey(task), question]),
        ),
      );
    },
  };
}

/** `onClosed`: it has to be opened again. */
async function open(name: string, onClosed: () => void): Promise<IDBDatabase> {
  const request = indexedDB.open(name, 1);
  request.onupgradeneeded = () => {
    const database = request.result;
    database.createObjectStore("calls").createIndex("task", "task");
    database.createObjectStore("answers");
    database.createObjectStore("sessions");
  };
  const database = await valueOf<IDBDatabase>(request);
  database.onclose = onClosed; // the browser has deleted what the site stores
  // Somebody deletes it, in any tab, and would wait for this connection.
  database.onversionchange = () => {
    database.close();
    onClosed();
  };
  return database;
}

function valueOf<T>(
  request: Pick<IDBRequest<unknown>, "result" | "error"> & Pick<EventTarget, "addEventListener">,
): Promise<T> {
  return new Promise((resolve, reject) => {
    request.addEventListener("success", () => resolve(request.result as T));
    request.addEventListener("error", () => reject(request.error ?? new Error("The database has failed")));
  });
}

function keyOf({ server, generation, key }: Pick<StoredCall, "server" | "generation" | "key">): string[] {
  return [server, generation, key];
}

function taskKey({ server, generation, taskId }: TaskReference): string[] {
  return [server, generation, taskId];
}
