import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { WebhookOptions } from "holdfast";
import { connect, type TaskClient } from "holdfast/client";
import { onTestFinished } from "vitest";
import { compileCache } from "../compile-cache.ts";
import { Signals } from "../peers/signals.ts";

const script = fileURLToPath(new URL("./node.ts", import.meta.url));

/** One process that serves the tasks of a site, and its dashboard. */
export class SiteNode {
  readonly origin: string;
  readonly port: number;
  readonly #child: ChildProcess;
  readonly #clients = new Map<string, Promise<TaskClient>>();

  constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
    this.origin = `http://127.0.0.1:${port}`;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Starts a task for a caller; gives its id. */
  async start(tool: string, word: string, caller = "erin"): Promise<string> {
    const client = await this.#clientOf(caller);
    const { taskId } = await client.startTool(tool, { word });
    if (taskId === null) throw new Error(`${tool} was answered without a task.`);
    return taskId;
  }

  /** Asks for a task as a caller who need not have it. */
  async get(taskId: string, caller: string): Promise<unknown> {
    const client = await this.#clientOf(caller);
    const task = await client.resume({ server: `${this.origin}/mcp`, generation: "2026-07-28", taskId });
    return task.get();
  }

  #clientOf(caller: string): Promise<TaskClient> {
    let client = this.#clients.get(caller);
    if (client === undefined) {
      client = connect(`${this.origin}/mcp`, {
        token: caller,
        capabilities: { elicitation: { form: {} } },
        onInput: () => new Promise(() => undefined), // operators answer
      });
      this.#clients.set(caller, client);
    }
    return client;
  }

  async kill(): Promise<void> {
    const clients = await Promise.allSettled(this.#clients.values());
    this.#clients.clear();
    for (const client of clients) if (client.status === "fulfilled") await client.value.close();
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== null || signalCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
  }
}

/** Any number of servers of one database, and what their tools and a test tell each other. They end with the test. */
export class Site extends Signals {
  /** The file of its database, unless that is elsewhere. */
  readonly database: string;
  readonly #store: string;

  private constructor(folder: string, store?: string) {
    super(folder);
    this.database = join(folder, "tasks.db");
    this.#store = store ?? `sqlite:${this.database}`;
  }

  /** `store`: the address of its database, if that is elsewhere. */
  static async inNewFolder(store?: string): Promise<Site> {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-browser-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
    return new Site(folder, store);
  }

  /** Starts a server, at the port of one that was killed if it is given; resolves when it serves. */
  async serve(port = 0, webhooks: readonly WebhookOptions[] = []): Promise<SiteNode> {
    const child = fork(script, [this.#store, this.folder, String(port), JSON.stringify(webhooks)], {
      env: { ...process.env, ...compileCache },
    });
    const ended = once(child, "exit").then(([code]) => {
      throw new Error(`The server ended with ${String(code)} before it served.`);
    });
    const [bound] = (await Promise.race([once(child, "message"), ended])) as [number];
    ended.catch(() => undefined);
    const node = new SiteNode(child, bound);
    onTestFinished(() => node.kill());
    return node;
  }
}
