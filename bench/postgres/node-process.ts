import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Role } from "../../src/runtime/options.ts";

export interface NodeSettings {
  readonly url: string;
  readonly schema: string;
  readonly roles?: readonly Role[];
}

/** A message to a node: how long to run lives of tasks, unless it only works … */
export interface Order {
  readonly ms: number;
}

/** … and its reply. */
export interface Done {
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

  static async start(settings: NodeSettings): Promise<NodeProcess> {
    const script = fileURLToPath(new URL("node.ts", import.meta.url));
    const child = fork(script, [JSON.stringify(settings)]);
    const node = new NodeProcess(child);
    await node.#receive();
    return node;
  }

  /** Rejects if the process has ended. */
  async work(ms: number): Promise<Done> {
    this.#child.send({ ms } satisfies Order);
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
