import type { TaskProtocol } from "../task-protocol.ts";
import { ListenStream, type Hearer, type ListenStreamOptions } from "./listen-stream.ts";

/** Takes the hearer off; `ended` says that the server has nothing more to push of the task. */
export type Leave = (ended: boolean) => void;

interface ListeningOptions extends Omit<ListenStreamOptions, "listen"> {
  /** Left out, nothing is listened to. */
  readonly listen: TaskProtocol["listen"] | undefined;
  /** Takes what runs on by itself, so that closing the client can wait for it. */
  readonly run: (work: Promise<void>) => void;
}

interface Wait {
  readonly taskId: string;
  readonly hearer: Hearer;
  /** Where it is listened to, if there is room. */
  stream: ListenStream | undefined;
}

/** Holds 10,000 tasks, and leaves most of what a Holdfast server gives one principal to others. */
const mostStreams = 20;

/**
 * Listens to all tasks that somebody waits for, on one stream as long as they fit, and on further ones where they are
 * very many. Those for which there is no room are polled alone until there is.
 */
export class Listening {
  readonly #options: ListeningOptions;
  readonly #streams = new Set<ListenStream>();
  readonly #waits = new Set<Wait>();
  /** Those without a stream. */
  readonly #waiting = new Set<Wait>();
  /** As many as the server is known to refuse no more of. */
  #most = mostStreams;

  constructor(options: ListeningOptions) {
    this.#options = options;
  }

  join(taskId: string, hearer: Hearer): Leave {
    const wait: Wait = { taskId, hearer, stream: undefined };
    this.#waits.add(wait);
    this.#place(wait);
    return (ended) => {
      this.#waits.delete(wait);
      this.#waiting.delete(wait);
      wait.stream?.leave(taskId, hearer, ended);
      const [next] = this.#waiting;
      if (next !== undefined && wait.stream !== undefined) this.#place(next);
    };
  }

  #place(wait: Wait): void {
    const stream = [...this.#streams].find(({ hasRoom }) => hasRoom) ?? this.#another();
    wait.stream = stream;
    if (stream === undefined) {
      this.#waiting.add(wait);
      return;
    }
    this.#waiting.delete(wait);
    stream.join(wait.taskId, wait.hearer);
    if (this.#streams.has(stream)) return;
    this.#streams.add(stream);
    this.#options.run(this.#run(stream));
  }

  #another(): ListenStream | undefined {
    const { listen, clock, events, closing } = this.#options;
    if (listen === undefined || this.#streams.size >= this.#most) return undefined;
    return new ListenStream({ listen, clock, events, closing });
  }

  async #run(stream: ListenStream): Promise<void> {
    let end: "left" | "refused" = "left";
    try {
      end = await stream.run();
    } finally {
      this.#streams.delete(stream);
    }
    if (end === "left") return;
    this.#most = this.#streams.size;
    for (const wait of this.#waits) if (wait.stream === stream) this.#place(wait);
  }
}
