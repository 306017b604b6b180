// Tasks with a journal as one would write them by hand for a single process: a thread that writes, one commit for all that waits, and
// nothing else (no limits, turns, owners, expiry or questions). Durable like a store: WAL, synchronous FULL. What the core of Holdfast is
// measured against.
import { randomUUID } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { measureLives } from "./lives.ts";

type Write =
  | { readonly do: "create"; readonly id: string; readonly token: string; readonly args: string }
  | {
      readonly do: "step";
      readonly id: string;
      readonly token: string;
      readonly key: string;
      readonly value: string;
    }
  | { readonly do: "settle"; readonly id: string; readonly token: string; readonly result: string };

interface Waiting {
  readonly write: Write;
  readonly resolve: (done: boolean) => void;
}

const schema = `
  PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 8388608;
  CREATE TABLE task (
    id TEXT PRIMARY KEY, tool TEXT, principal TEXT, args TEXT, state TEXT, token TEXT, version INT, created INT, ended INT, sweep INT,
    result TEXT
  ) WITHOUT ROWID;
  CREATE TABLE journal (task TEXT, key TEXT, value TEXT, done INT, PRIMARY KEY (task, key)) WITHOUT ROWID;
  CREATE INDEX open ON task (tool, id) WHERE state = 'running';
  CREATE INDEX due ON task (sweep);
  CREATE INDEX mine ON task (principal, id);`;

/** The writing thread. */
function serveWrites(path: string): void {
  const db = new DatabaseSync(path);
  db.exec(schema);
  const create = db.prepare(
    "INSERT INTO task VALUES (?, 'report', '', ?, 'running', ?, 1, ?, NULL, ?, NULL)",
  );
  const own = db.prepare(
    "UPDATE task SET version = version + 1 WHERE id = ? AND token = ? AND state = 'running'",
  );
  const step = db.prepare("INSERT INTO journal VALUES (?, ?, ?, ?)");
  const settle = db.prepare(
    "UPDATE task SET state = 'settled', token = NULL, version = version + 1, ended = ?, sweep = ?, result = ? WHERE id = ? AND token = ? AND state = 'running'",
  );
  const apply = (write: Write): boolean => {
    const now = Date.now();
    const { id, token } = write;
    switch (write.do) {
      case "create":
        return create.run(id, write.args, token, now, now + 1e9).changes === 1;
      case "step":
        return own.run(id, token).changes === 1 && step.run(id, write.key, write.value, now).changes === 1;
      case "settle":
        return settle.run(now, now + 1e8, write.result, id, token).changes === 1;
    }
  };
  parentPort?.on("message", (group: readonly Write[]) => {
    db.exec("BEGIN IMMEDIATE");
    const done = group.map(apply);
    db.exec("COMMIT");
    parentPort?.postMessage(done);
  });
  parentPort?.postMessage([]);
}

/** The other end: what is written during a commit is the next group. */
class Writer {
  readonly #worker: Worker;
  #waiting: Waiting[] = [];
  #inFlight: readonly Waiting[] | undefined = [];

  constructor(path: string) {
    this.#worker = new Worker(new URL(import.meta.url), { workerData: path });
    this.#worker.on("message", (done: readonly boolean[]) => {
      const group = this.#inFlight ?? [];
      this.#inFlight = undefined;
      for (const [index, { resolve }] of group.entries()) resolve(done[index] === true);
      this.#flush();
    });
  }

  async write(write: Write): Promise<void> {
    const done = await new Promise<boolean>((resolve) => {
      this.#waiting.push({ write, resolve });
      if (this.#waiting.length === 1) queueMicrotask(() => this.#flush());
    });
    if (!done) throw new Error(`${write.do} of ${write.id} was refused.`);
  }

  #flush(): void {
    if (this.#inFlight !== undefined || this.#waiting.length === 0) return;
    this.#inFlight = this.#waiting;
    this.#waiting = [];
    this.#worker.postMessage(this.#inFlight.map(({ write }) => write));
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }
}

async function life(writer: Writer): Promise<void> {
  const [id, token] = [`${Date.now().toString(16)}${randomUUID()}`, randomUUID()];
  await writer.write({ do: "create", id, token, args: JSON.stringify({ rows: 3 }) });
  for (const key of ["read", "count", "write"]) {
    await writer.write({ do: "step", id, token, key, value: JSON.stringify(key.length) });
  }
  await writer.write({
    do: "settle",
    id,
    token,
    result: JSON.stringify({ content: [{ type: "text", text: "done" }] }),
  });
}

if (isMainThread) {
  const [, , path = "by-hand.db"] = process.argv;
  const writer = new Writer(path);
  console.log(JSON.stringify(await measureLives(() => life(writer), path)));
  await writer.stop();
} else {
  serveWrites(String(workerData));
}
