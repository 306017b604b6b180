import type { CallToolResult } from "@modelcontextprotocol/client";
import { connect, type InputRequest, type InputResult, type TaskHandle } from "holdfast/client";
import { count, counted } from "../wording.ts";
import type { DemoSetup } from "./demo-setup.ts";
import { fileProgress, isHalfway, type FileProgress } from "./file-progress.ts";
import { listedFiles, loadJournal, type Journal } from "./journal.ts";
import { pauseMs } from "./pause-ms.ts";
import type { Screen } from "./screen.ts";
import { ServerProcess } from "./server-process.ts";
import { untilReading } from "./until-reading.ts";

const script = new URL("./demo-server.ts", import.meta.url);

interface StoryOptions {
  readonly folder: string;
  readonly setup: DemoSetup;
  readonly screen: Screen;
  /** Called with each server before anything can go wrong with it. */
  readonly onServer: (server: ServerProcess) => void;
  /** Awaited once the first one serves, before it has anything to do. */
  readonly onServing?: () => Promise<void>;
}

/** The kill as it happened; times in epoch ms. */
export interface Kill {
  readonly pid: number;
  readonly startedAt: number;
  readonly killedAt: number;
  readonly restartedAt: number;
  /** What was in the journal between the two servers. */
  readonly journal: Journal;
}

export interface StoryEnd {
  readonly taskId: string;
  readonly result: CallToolResult;
  /** Undefined if the task ended before anything was read. */
  readonly kill: Kill | undefined;
}

/** A client, and the servers that die under it. */
export class Story {
  readonly #options: StoryOptions;
  readonly #lostServer = new AbortController();
  readonly #restarted = Promise.withResolvers<void>();
  #server: ServerProcess;
  #startedAt = 0;
  #isAnswered = false;
  #progress: FileProgress | undefined;
  #kill: Kill | undefined;

  constructor(options: StoryOptions) {
    this.#options = options;
    this.#server = this.#spawn(0);
  }

  /** Tells it up to the task's end; no server is left then. */
  async tell(): Promise<StoryEnd> {
    const { folder, screen } = this.#options;
    const url = await this.#server.ready();
    this.#startedAt = Date.now();
    screen.scene(1, `A server starts: pid ${this.#server.pid}, ${url}`);
    await this.#options.onServing?.();
    const client = await connect(url, { pollFloorMs: 50, onInput: (request) => this.#answer(request) });
    try {
      const handle = await client.startTool("index_folder", { folder });
      const taskId = handle.taskId ?? "";
      screen.scene(2, `A client calls index_folder on ${folder}: task ${taskId}`);
      await this.#watch(handle, taskId, Number(new URL(url).port));
      const result = await handle.result();
      await this.#server.stop();
      return { taskId, result, kill: this.#kill };
    } finally {
      await client.close();
    }
  }

  async #watch(handle: TaskHandle, taskId: string, port: number): Promise<void> {
    for await (const task of handle.updates({ signal: this.#lostServer.signal })) {
      if (task.status !== "working" && task.status !== "input_required") return;
      const progress = fileProgress(task);
      if (progress !== undefined && !this.#isAnswered) this.#show(progress);
      if (this.#kill === undefined && isHalfway(task, progress)) {
        if (progress !== undefined) await untilReading(this.#options.setup.readLog, progress.total);
        await this.#killAndRestart(taskId, port);
      }
    }
  }

  #show(progress: FileProgress): void {
    const { screen } = this.#options;
    const { done, total } = progress;
    if (this.#progress === undefined) {
      screen.scene(
        3,
        `It reads. Each file takes about ${pauseMs(total)} ms longer here, so that you can watch.`,
      );
    }
    this.#progress = progress;
    screen.bar(done, total);
  }

  /** The client learns nothing of this: it continues to poll the same address, and finds its task there again. */
  async #killAndRestart(taskId: string, port: number): Promise<void> {
    const { screen, setup } = this.#options;
    const { pid } = this.#server;
    await this.#server.kill();
    const killedAt = Date.now();
    screen.scene(4, `SIGKILL to pid ${pid}: no warning, nothing tidied up.`);
    const journal = loadJournal(setup.database, taskId);
    this.#server = this.#spawn(port);
    await this.#server.ready();
    this.#kill = { pid, startedAt: this.#startedAt, killedAt, restartedAt: Date.now(), journal };
    const share = `${count(journal.files.size)} of ${counted(listedFiles(journal).length, "file")}`;
    screen.scene(5, `It starts again: pid ${this.#server.pid}. The journal has ${share}; it goes on there.`);
    this.#restarted.resolve();
  }

  async #answer(request: InputRequest): Promise<InputResult> {
    // With few files the question comes before the kill. It may wait.
    await this.#restarted.promise;
    if (request.method !== "elicitation/create") throw new Error(`No answer to ${request.method}.`);
    this.#isAnswered = true;
    if (this.#progress !== undefined) this.#show({ ...this.#progress, done: this.#progress.total });
    this.#options.screen.scene(6, `It asks: “${request.params.message}” The demo answers: yes.`);
    return { action: "accept", content: { write: true } };
  }

  #spawn(port: number): ServerProcess {
    const server = new ServerProcess(script, [JSON.stringify({ ...this.#options.setup, port })]);
    this.#options.onServer(server);
    server.unasked.catch((error: unknown) => this.#lostServer.abort(error));
    return server;
  }
}
