import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { inFlight } from "./in-flight.ts";
import type { TaskNodeOptions } from "./task-node.ts";

export interface NodeSettings extends TaskNodeOptions {
  /** Of a database with a schema, or `sqlite:PATH`. */
  readonly url: string;
  readonly schema?: string;
  /** How many lives at a time, unless the order says otherwise. Default 50. */
  readonly inFlight?: number;
}

/** The queues that lives are compared with, as `bench/peers` runs them. */
export type PeerKind = "graphile" | "graphile-tuned" | "pg-boss" | "dbos" | "restate";

/** A message to a node: how long to run lives of tasks, unless it only works … */
export interface Order {
  readonly ms: number;
  readonly inFlight?: number;
}

/** … and its reply. */
export interface Done {
  readonly lives: number;
  readonly perSecond: number;
  /** Processor time that it used (ms). */
  readonly cpuMs: number;
}

/** A node in its own process, which ends with this one. */
export class NodeProcess implements AsyncDisposable {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static start(settings: NodeSettings): Promise<NodeProcess> {
    return NodeProcess.#run("node.ts", [JSON.stringify(settings)]);
  }

  /** Another queue, in place of a node. */
  static startPeer(kind: PeerKind, { url, schema, inFlight: most }: NodeSettings): Promise<NodeProcess> {
    return NodeProcess.#run("../peers/peer.js", [kind, url, schema ?? "", String(most ?? inFlight)]);
  }

  static async #run(script: string, args: readonly string[]): Promise<NodeProcess> {
    const child = fork(fileURLToPath(new URL(script, import.meta.url)), args, {
      execArgv: ["--no-warnings"],
    });
    const node = new NodeProcess(child);
    await node.#receive();
    return node;
  }

  get pid(): number {
    return this.#child.pid ?? Number.NaN;
  }

  /** Rejects if the process has ended. */
  async work(ms: number, most?: number): Promise<Done> {
    this.#child.send({ ms, ...(most !== undefined && { inFlight: most }) } satisfies Order);
    return (await this.#receive()) as Done;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.disconnect();
    await exited;
  }

  async #receive(): Promise<unknown> {
    const ended = new AbortController();
    const exited = once(this.#child, "exit", { signal: ended.signal }).then(() =>
      Promise.reject(new Error("A node has ended.")),
    );
    exited.catch(() => undefined);
    const [message] = (await Promise.race([once(this.#child, "message"), exited])) as [unknown];
    ended.abort();
    return message;
  }
}

/** Nodes on one database, which work together. */
export class NodeGroup implements AsyncDisposable {
  readonly #nodes: readonly NodeProcess[];

  private constructor(nodes: readonly NodeProcess[]) {
    this.#nodes = nodes;
  }

  static async start(each: readonly NodeSettings[]): Promise<NodeGroup> {
    const started: NodeProcess[] = [];
    // One after another: the first one creates the schema.
    for (const settings of each) started.push(await NodeProcess.start(settings));
    return new NodeGroup(started);
  }

  /** Sums of all. */
  async work(ms: number): Promise<Done> {
    const done = await Promise.all(this.#nodes.map((node) => node.work(ms)));
    const sum = (of: keyof Done): number => done.reduce((total, one) => total + one[of], 0);
    return { lives: sum("lives"), perSecond: sum("perSecond"), cpuMs: sum("cpuMs") };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node[Symbol.asyncDispose]()));
  }
}
