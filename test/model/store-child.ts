import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { Renewal } from "../../src/store/store.ts";
import type { HandlerName } from "../../src/task/queue.ts";
import type { Held } from "./mirror.ts";
import type { Answer } from "./model-state.ts";
import type { StoreCommand } from "./model.ts";
import type { StoreReply, StoreRequest } from "./store-process.ts";
import type { Look, View } from "./view.ts";

const program = fileURLToPath(new URL("./store-process.ts", import.meta.url));

/** A store in a process of its own, which can be killed in the middle of whatever it is doing. */
export class StoreChild {
  readonly id: string;
  readonly #child: ReturnType<typeof StoreChild.spawn>;
  readonly #closed: Promise<unknown>;
  readonly #problems: Promise<string>;
  readonly #waiting: ((line: string | undefined) => void)[] = [];
  #ended = false;

  private constructor(at: string, id: string, handlers: readonly HandlerName[]) {
    this.id = id;
    this.#child = StoreChild.spawn(at, id, handlers);
    this.#closed = once(this.#child, "close");
    this.#problems = text(this.#child.stderr);
    // It may be gone before it has read all.
    this.#child.stdin.on("error", () => undefined);
    void this.#read();
  }

  /** Resolves when the store is open. */
  static async open(at: string, id: string, handlers: readonly HandlerName[]): Promise<StoreChild> {
    const child = new StoreChild(at, id, handlers);
    await child.renew();
    return child;
  }

  static spawn(at: string, id: string, handlers: readonly HandlerName[]) {
    const args = [program, at, id, JSON.stringify(handlers)];
    return spawn(process.execPath, args, { stdio: ["pipe", "pipe", "pipe"] });
  }

  /** Undefined where it was killed before it answered. */
  async write(commands: readonly StoreCommand[]): Promise<readonly Answer[] | undefined> {
    return (await this.#ask({ write: commands })) as readonly Answer[] | undefined;
  }

  async look(look: Look): Promise<View> {
    return (await this.#must({ look })) as View;
  }

  async reaches(held: Held): Promise<Held> {
    return (await this.#must({ hear: held })) as Held;
  }

  async renew(): Promise<Renewal> {
    return (await this.#must({ renew: true })) as Renewal;
  }

  get pid(): number {
    return this.#child.pid ?? Number.NaN;
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#closed;
  }

  async #must(request: StoreRequest): Promise<StoreReply> {
    const reply = await this.#ask(request);
    if (reply === undefined) throw new Error(`${this.id} ended by itself: ${await this.#problems}`);
    return reply;
  }

  async #ask(request: StoreRequest): Promise<StoreReply | undefined> {
    if (this.#ended) return undefined;
    const line = await new Promise<string | undefined>((resolve) => {
      this.#waiting.push(resolve);
      this.#child.stdin.write(`${JSON.stringify(request)}\n`);
    });
    return line === undefined ? undefined : (JSON.parse(line) as StoreReply);
  }

  async #read(): Promise<void> {
    for await (const line of wholeLines(this.#child.stdout.setEncoding("utf8")))
      this.#waiting.shift()?.(line);
    this.#ended = true;
    for (const resolve of this.#waiting) resolve(undefined);
  }
}

/** A line that the kill cut off is no answer. */
async function* wholeLines(chunks: AsyncIterable<string>): AsyncGenerator<string, void, undefined> {
  let rest = "";
  for await (const chunk of chunks) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}
