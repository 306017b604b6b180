import type { ChangedBy, Renewal, StoreChanges, TaskChange, TaskStore } from "../../src/store/store.ts";
import type { HandlerName } from "../../src/task/queue.ts";
import { Mirror, type Held } from "./mirror.ts";
import type { Answer } from "./model-state.ts";
import type { StoreCommand } from "./model.ts";
import { viewOfStore, type Look, type View } from "./view.ts";

/** A store that is put beside the model, as one owner has it open. */
export class StoreSubject {
  readonly #store: TaskStore;
  readonly #mirror: Mirror;
  readonly #ordersMessages: boolean;
  #own: TaskChange[] = [];
  #others: TaskChange[] = [];

  private constructor(store: TaskStore, handlers: readonly HandlerName[], ordersMessages: boolean) {
    this.#store = store;
    this.#ordersMessages = ordersMessages;
    this.#mirror = new Mirror(store, handlers);
    store.subscribe((changes, by) => this.#hear(changes, by));
  }

  /** Unless the store keeps messages and commands in one order, they wait for each other here. */
  static async open(
    store: TaskStore,
    id: string,
    handlers: readonly HandlerName[],
    ordersMessages = true,
  ): Promise<StoreSubject> {
    await store.open({ id, handlers });
    return new StoreSubject(store, handlers, ordersMessages);
  }

  /** Makes all writes before it waits for any: where it can, the store puts them into one commit. */
  async write(commands: readonly StoreCommand[]): Promise<readonly Answer[]> {
    const place = this.#ordersMessages ? -1 : commands.findIndex(isAboutMessages);
    if (place === -1) return this.#writeAtOnce(commands);
    const before = await this.#writeAtOnce(commands.slice(0, place));
    const answer = await this.#writeAtOnce(commands.slice(place, place + 1));
    return [...before, ...answer, ...(await this.write(commands.slice(place + 1)))];
  }

  #writeAtOnce(commands: readonly StoreCommand[]): Promise<readonly Answer[]> {
    return Promise.all(commands.map((command) => this.#perform(command).catch(rejection)));
  }

  /** What it was told since it was asked last: of its own changes … */
  toldOfOwn(): readonly TaskChange[] {
    const told = this.#own;
    this.#own = [];
    return told;
  }

  /** … and of those of others. */
  toldOfOthers(): readonly TaskChange[] {
    const told = this.#others;
    this.#others = [];
    return told;
  }

  look(at: Look): Promise<View> {
    return viewOfStore(this.#store, at);
  }

  async renew(): Promise<Renewal> {
    const renewal = await this.#store.renew();
    return { ...renewal, gone: renewal.gone.toSorted() };
  }

  /** Resolves with what it holds by what it was told, when that is `expected` or takes too long. */
  reaches(expected: Held): Promise<Held> {
    return this.#mirror.reaches(expected);
  }

  async close(): Promise<void> {
    await this.#mirror.close();
    await this.#store.close();
  }

  async #perform(command: StoreCommand): Promise<Answer> {
    const { messages } = this.#store;
    switch (command.type) {
      case "put_message":
        if (messages === undefined) throw new Error("The store has no messages.");
        return messages.put(command.taskId, command.message, command.maxMessages);
      case "take_messages":
        if (messages === undefined) throw new Error("The store has no messages.");
        return messages.take(command.taskId, command.limit);
      default:
        return this.#store.write(command);
    }
  }

  #hear(changes: StoreChanges, by: ChangedBy): void {
    if (changes === "gap") return;
    (by === "self" ? this.#own : this.#others).push(...changes);
  }
}

export function isAboutMessages({ type }: StoreCommand): boolean {
  return type === "put_message" || type === "take_messages";
}

function rejection(error: unknown): Answer {
  // By its code: in a process of its own, the store comes from the package.
  if (error instanceof Error && "code" in error && error.code === "store_lost")
    return { rejected: error.code };
  throw error;
}
