import { setTimeout as pause } from "node:timers/promises";
import { connect, type TaskClient, type TaskHandle } from "holdfast/client";
import type { Screen } from "../index-folder/demo/screen.ts";
import { ServerProcess } from "../index-folder/demo/server-process.ts";
import { count, counted } from "../index-folder/wording.ts";
import { books, pagesPerBook, type ClusterSetup } from "./cluster-setup.ts";
import type { ClusterDatabase } from "./database.ts";
import { loadPageLog, pageName } from "./page-log.ts";
import type { ClusterEvidence } from "./proof.ts";

const lookAgainMs = 25;
const names = ["A", "B", "C"] as const;

interface ClusterStoryOptions {
  readonly database: ClusterDatabase;
  readonly setup: ClusterSetup;
  readonly screen: Screen;
  /** Called with each node before anything can go wrong with it. */
  readonly onNode: (node: ServerProcess) => void;
}

interface Node {
  readonly name: string;
  readonly process: ServerProcess;
  readonly url: string;
  readonly client: TaskClient;
}

/** Three nodes, of which one dies. */
export class ClusterStory {
  readonly #options: ClusterStoryOptions;
  readonly #nodes: Node[] = [];

  constructor(options: ClusterStoryOptions) {
    this.#options = options;
  }

  /** Tells it up to the end of all tasks; no node is left then. */
  async tell(): Promise<ClusterEvidence & { readonly moments: readonly (readonly [number, string])[] }> {
    const { screen, setup, database } = this.#options;
    const where = database.isOwn ? "Postgres starts, with data of its own" : "A Postgres is there";
    screen.scene(1, `${where}: ${withoutPassword(setup.url)}, schema ${setup.schema}`);
    await Promise.all(names.map((name) => this.#start(name)));
    this.#nodes.sort((a, b) => (a.name < b.name ? -1 : 1));
    screen.scene(2, "Three nodes start on it, all the same:");
    for (const { name, process, url } of this.#nodes) screen.note(`${name}: pid ${process.pid}, ${url}`);
    const startedAt = Date.now();
    const handles = await this.#call();
    screen.scene(3, `A client starts ${counted(books, "task")}, in turn at each node. They print:`);
    await this.#printing(books * pagesPerBook * 0.5);
    const [, killed] = this.#nodes;
    if (killed === undefined) throw new Error("There is no node to kill.");
    await killed.process.kill();
    const killedAt = Date.now();
    await killed.client.close();
    const taskIds = handles.map(({ taskId }) => taskId ?? "");
    const stored = await database.pages(taskIds);
    const open = this.#openBooks(killed.process.pid, stored.map(pageName));
    screen.scene(
      4,
      `SIGKILL to node ${killed.name}, pid ${killed.process.pid}: no warning, nothing tidied up.`,
    );
    screen.note(
      `${counted(open, "task")} ran there. ${count(stored.length)} of ${counted(books * pagesPerBook, "page")} are in the database.`,
    );
    screen.scene(
      5,
      `Its lease ends after ${setup.leaseMs / 1_000} s, and the others take what it had. The client asks them for all tasks:`,
    );
    const results = await this.#results(handles);
    for (const { process, client } of this.#nodes.filter((node) => node !== killed)) {
      await client.close();
      await process.stop();
    }
    const events = loadPageLog(setup.log);
    const taken = events.find(
      ({ at, pid, book, page }) =>
        at > killedAt &&
        pid !== killed.process.pid &&
        events.some((each) => each.pid === killed.process.pid && each.book === book && each.page === page),
    );
    return {
      events,
      killedPid: killed.process.pid,
      stored: await database.pages(taskIds),
      results,
      moments: [
        [0, "first call"],
        [killedAt - startedAt, `SIGKILL to node ${killed.name}`],
        [(taken?.at ?? Number.NaN) - startedAt, "first page of its books on another node"],
        [Date.now() - startedAt, "all tasks completed"],
      ],
    };
  }

  async #start(name: string): Promise<void> {
    const { setup, onNode } = this.#options;
    const process = new ServerProcess(new URL("./node.ts", import.meta.url), [JSON.stringify(setup)]);
    onNode(process);
    const url = await process.ready();
    // One name for all of them: a task's reference is valid at each.
    const client = await connect(url, { serverName: "printer", pollFloorMs: 50 });
    this.#nodes.push({ name, process, url, client });
  }

  async #call(): Promise<readonly TaskHandle[]> {
    const handles: TaskHandle[] = [];
    for (let book = 1; book <= books; book++) {
      const node = this.#nodes[book % this.#nodes.length];
      if (node !== undefined) handles.push(await node.client.startTool("print_book", { book }));
    }
    return handles;
  }

  /** Resolves when so many pages are printed. */
  async #printing(until: number): Promise<void> {
    const { screen, setup } = this.#options;
    for (;;) {
      const kept = new Set(
        loadPageLog(setup.log)
          .filter(({ event }) => event === "kept")
          .map(pageName),
      ).size;
      screen.bar(kept, books * pagesPerBook, "page");
      if (kept >= until) return;
      await pause(lookAgainMs);
    }
  }

  #openBooks(pid: number, stored: readonly string[]): number {
    const ofNode = loadPageLog(this.#options.setup.log).filter(
      (each) => each.pid === pid && each.event === "begin",
    );
    return new Set(ofNode.filter((page) => !stored.includes(pageName(page))).map(({ book }) => book)).size;
  }

  /** Asks the remaining nodes, wherever a task was started. */
  async #results(handles: readonly TaskHandle[]): Promise<readonly string[]> {
    const [first, , third] = this.#nodes;
    const ended = Promise.all(
      handles.map(async ({ reference }, index) => {
        const client = (index % 2 === 0 ? first : third)?.client;
        const handle = await client?.resume(reference);
        const result = await handle?.result({ timeoutMs: 40_000 });
        const [block] = result?.content ?? [];
        return block?.type === "text" ? block.text : "";
      }),
    );
    await Promise.race([ended, this.#printing(books * pagesPerBook)]);
    const results = await ended;
    this.#options.screen.endBar();
    return results;
  }
}

function withoutPassword(url: string): string {
  return url.replace(/\/\/[^/]*@/, "//").replace(/\?.*$/s, "");
}
