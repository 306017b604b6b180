import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Rpc } from "../crash/rpc.ts";
import { Signals } from "../peers/signals.ts";
import { FreshDatabase } from "../postgres/test-database.ts";
import { withClient } from "../postgres/with-client.ts";

/** What a node runs: tools of `tasks.tool`, or those of a server of the SDK. */
const programs = {
  tasks: new URL("./node.ts", import.meta.url),
  durable: new URL("./durable-node.ts", import.meta.url),
};

export type Role = "serve" | "work" | "both";

/** What a node is told to do … */
export interface SendEvent {
  readonly taskId: string;
  readonly value: string;
  readonly dedupeId: string;
}

/** … and what it says: where it serves, or what became of an event: `new`, `known`, or what it was refused with. */
export type NodeReply =
  { readonly url: string | null } | { readonly dedupeId: string; readonly sent: string };

/** One process of several on a database. */
export class Node {
  readonly url: string;
  readonly pid: number;
  /** For requests of 2026-07-28. */
  readonly rpc: Rpc;
  readonly #child: ChildProcess;
  readonly #database: FreshDatabase;

  constructor(child: ChildProcess, url: string, database: FreshDatabase) {
    this.#child = child;
    this.#database = database;
    this.pid = child.pid ?? Number.NaN;
    this.url = url;
    this.rpc = new Rpc(url);
    child.setMaxListeners(0); // many events may be sent at once
  }

  /** Resolves with what became of it. */
  async sendEvent(event: SendEvent): Promise<string> {
    const sent = Promise.withResolvers<string>();
    const listen = (reply: NodeReply): void => {
      if ("sent" in reply && reply.dedupeId === event.dedupeId) sent.resolve(reply.sent);
    };
    this.#child.on("message", listen);
    this.#child.send(event);
    return sent.promise.finally(() => this.#child.off("message", listen));
  }

  /** Resolves when it has ended, and nobody has to wait for the end of its lease. */
  async kill(): Promise<void> {
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== null || signalCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
    const over = "update holdfast.owner set lease_until = '-infinity' where pid = $1";
    await withClient(this.#database.url, (client) => client.query(over, [this.pid]));
  }
}

/** Nodes on a database of their own. Dispose of them: that ends them all. */
export class Nodes extends Signals implements AsyncDisposable {
  readonly #folder: string;
  readonly #database: FreshDatabase;
  readonly #program: string;
  readonly #leaseMs: number | undefined;
  readonly #children: ChildProcess[] = [];

  private constructor(folder: string, database: FreshDatabase, program: URL, leaseMs?: number) {
    super(folder);
    this.#leaseMs = leaseMs;
    this.#folder = folder;
    this.#database = database;
    this.#program = fileURLToPath(program);
  }

  static async inNewDatabase(tools: keyof typeof programs = "tasks", leaseMs?: number): Promise<Nodes> {
    const database = await FreshDatabase.create();
    return new Nodes(await mkdtemp(join(tmpdir(), "holdfast-nodes-")), database, programs[tools], leaseMs);
  }

  /** Resolves when it serves, or works. */
  async start(role: Role = "both"): Promise<Node> {
    const lease = this.#leaseMs === undefined ? [] : [String(this.#leaseMs)];
    const child = fork(this.#program, [role, this.#database.url, this.folder, ...lease], { execArgv: [] });
    this.#children.push(child);
    const ended = once(child, "exit").then(([code]) => {
      throw new Error(`The node ended with ${String(code)} before it was ready.`);
    });
    const [reply]: readonly NodeReply[] = await Promise.race([once(child, "message"), ended]);
    ended.catch(() => undefined);
    const url = reply !== undefined && "url" in reply ? reply.url : null;
    return new Node(child, url ?? "", this.#database);
  }

  /** The processes that ran the handler of this word, in order. */
  runnersOf(word: string): readonly number[] {
    return this.eventsOf(word).flatMap((event) => {
      const pid = /^\(runs in (\d+)\)$/.exec(event)?.[1];
      return pid === undefined ? [] : [Number(pid)];
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      this.#children.map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const ended = once(child, "exit");
        child.kill("SIGKILL");
        await ended;
      }),
    );
    await this.#database.drop();
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
