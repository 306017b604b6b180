import { fork, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { Command, Report, SentRequest } from "./clients/client-process.ts";
import type { ClientName } from "./clients/open-client.ts";

const script = fileURLToPath(new URL("./clients/client-process.ts", import.meta.url));

function isResumption({ method, lastEventId, status }: SentRequest): boolean {
  return method === undefined && lastEventId !== undefined && status === 200;
}

/** A client library that runs in a process of its own. */
export class Peer {
  /** What the library has sent so far, in the order of the answers. */
  readonly sent: SentRequest[] = [];
  readonly #child: ChildProcess;
  readonly #onSent = new Set<() => void>();
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #commands = 0;

  private constructor(name: ClientName, url: string, timeoutMs?: number) {
    this.#child = fork(script, [name, url, ...(timeoutMs === undefined ? [] : [String(timeoutMs)])], {
      silent: true, // Mastra logs what fails, as it has to here
      // mcp-use and LangChain would report that they run.
      env: { ...process.env, MCP_USE_ANONYMIZED_TELEMETRY: "false", LANGSMITH_TRACING: "false" },
    });
    onTestFinished(() => void this.#child.kill("SIGKILL"));
    this.#child.on("message", (report: Report) => this.#take(report));
    let output = "";
    for (const pipe of [this.#child.stdout, this.#child.stderr]) {
      pipe?.on("data", (chunk: Buffer) => (output += chunk.toString()));
    }
    this.#child.once("exit", () => {
      const ended = new Error(`The process of ${name} ended: ${output}`);
      for (const { reject } of this.#waiting.values()) reject(ended);
    });
  }

  /** Resolves when the library is connected, with its own time limit of a call or this one. It ends with the test. */
  static async connect(name: ClientName, url: string, timeoutMs?: number): Promise<Peer> {
    const peer = new Peer(name, url, timeoutMs);
    await peer.#answerTo(0);
    return peer;
  }

  async list(): Promise<readonly string[]> {
    return (await this.#ask({})) as readonly string[];
  }

  /** The text of the result, or a rejection with that of the library's error. `timeoutMs` as in `PeerClient`. */
  async call(tool: string, word: string, timeoutMs?: number): Promise<string> {
    return (await this.#ask({ call: { tool, args: { word }, timeoutMs } })) as string;
  }

  /** What the polling tool answers for a ticket. */
  async resultOf(reference: string): Promise<string> {
    return (await this.#ask({ call: { tool: "task_result", args: { reference } } })) as string;
  }

  /** The requests of this JSON-RPC method. */
  sentOf(method: string): readonly SentRequest[] {
    return this.sent.filter((request) => request.method === method);
  }

  /** The one that its latest call named. */
  get protocolVersion(): string | undefined {
    return this.sentOf("tools/call").at(-1)?.protocolVersion;
  }

  /** Resolves when the stream of the latest call can be resumed. */
  callAnswered(): Promise<void> {
    return this.#until(() => this.sentOf("tools/call").at(-1)?.status === 200);
  }

  /** Resolves when the library has resumed the stream of a call so many times, and each time its standalone stream too. */
  resumed(times: number): Promise<void> {
    return this.#until(() => this.sent.filter(isResumption).length >= 2 * times);
  }

  async #until(reached: () => boolean): Promise<void> {
    while (!reached()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#onSent.add(resolve);
      await promise;
      this.#onSent.delete(resolve);
    }
  }

  #ask(command: Omit<Command, "id">): Promise<unknown> {
    const id = ++this.#commands;
    const answer = this.#answerTo(id);
    this.#child.send({ id, ...command });
    return answer;
  }

  #answerTo(id: number): Promise<unknown> {
    const waiting = Promise.withResolvers<unknown>();
    this.#waiting.set(id, waiting);
    return waiting.promise;
  }

  #take(report: Report): void {
    if ("sent" in report) {
      this.sent.push(report.sent);
      for (const wake of this.#onSent) wake();
      return;
    }
    const waiting = this.#waiting.get(report.id);
    this.#waiting.delete(report.id);
    if ("error" in report) waiting?.reject(new Error(report.error));
    else waiting?.resolve(report.value);
  }
}
