import type { WorkListener } from "../store.ts";
import type { News, WorkerState } from "./news.ts";

/** A URL of Postgres, in parts: hosts are separated by commas, as libpq takes them. */
const parts = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)([^]*)$/i;

/** The URLs of the single servers that a URL names, in its order. */
export function serversOf(url: string): readonly string[] {
  const [, before = "", hosts = "", after = ""] = parts.exec(url) ?? [];
  return hosts.includes(",") ? hosts.split(",").map((host) => `${before}${host}${after}`) : [url];
}

/** The same servers, and another database on them. */
export function withDatabase(url: string, database: string): string {
  const [, before = "", hosts = "", after = ""] = parts.exec(url) ?? [];
  return `${before}${hosts}/${encodeURIComponent(database)}${after.replace(/^[^?#]*/, "")}`;
}

/** Takes a parameter out of a URL; undefined where it is not among them. */
export function takeParameter(url: string, name: string): { readonly url: string; readonly value?: string } {
  const [rest = "", query = ""] = url.split(/\?([^]*)/);
  const parameters = new URLSearchParams(query);
  const value = parameters.get(name);
  if (value === null) return { url };
  parameters.delete(name);
  return { url: parameters.size === 0 ? rest : `${rest}?${parameters.toString()}`, value };
}

/** The server to connect to, of those that may be the primary one. */
export class Servers {
  readonly #urls: readonly string[];
  #at = 0;

  constructor(url: string) {
    this.#urls = serversOf(url);
  }

  get count(): number {
    return this.#urls.length;
  }

  get current(): string {
    return this.#urls[this.#at] ?? "";
  }

  /** The server at this URL did not answer, or takes no writes: the next one is tried, unless somebody else already does. */
  leave(url: string): void {
    if (url === this.current) this.#at = (this.#at + 1) % this.#urls.length;
  }

  /** Connects to the first server that `connect` does not reject for, beginning with the last one that worked. */
  async each<T>(connect: (url: string) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      const url = this.current;
      try {
        return await connect(url);
      } catch (error) {
        this.leave(url);
        if (tries >= this.count) throw error;
      }
    }
  }
}

/** How long a process that was told of tasks may be silent before all others are told (ms). */
const patienceMs = 200;

export interface WorkSharingSetup {
  readonly send: (news: Pick<News, "work" | "worker">) => void;
  /** Replaced in tests. */
  readonly patienceMs?: number;
}

/**
 * Tells one process of tasks that any may claim: this one if it has a free slot, else another one that said so. Whoever does not take them
 * all has everyone look. What processes say of their slots is a hint, and messages may get lost: everyone looks for tasks now and then, and
 * only the task's row says whose it is.
 */
export class WorkSharing {
  readonly #setup: WorkSharingSetup;
  readonly #listeners = new Set<{ readonly listener: WorkListener }>();
  /** The other processes that run tasks; the one that was told longest ago is first. */
  readonly #workers = new Map<string, Worker>();
  #state: WorkerState = "away";
  /** How often this process has found nothing more to claim: it has a slot to spare then. */
  #spare = 0;
  #offered = 0;
  #told = 0;
  #isAsking = false;
  #closed = false;

  constructor(setup: WorkSharingSetup) {
    this.#setup = setup;
  }

  /** Takes offers while there are listeners. Returns a function that ends the subscription. */
  onWork(listener: WorkListener): () => void {
    const subscription = { listener };
    this.#listeners.add(subscription);
    this.#become("free");
    return () => {
      this.#listeners.delete(subscription);
      if (this.#listeners.size === 0) this.#become("away");
    };
  }

  /** This process has committed so many tasks that any process may claim. */
  offer(tasks: number): void {
    this.#offered += tasks;
    void this.#askAll();
  }

  /** Another process left so many tasks to this one. */
  tell(tasks: number): void {
    this.#told += tasks;
    void this.#askAll();
  }

  /** Everyone was told, so the answer goes to nobody. */
  look(): void {
    void this.#ask(1);
  }

  /** A claim found fewer tasks than it asked for. */
  foundNoMore(): void {
    this.#spare++;
    this.#become("free");
  }

  /** Another process is there, and may have said something of its slots. After a gap it may have heard nothing of this one. */
  hear(owner: string, state: WorkerState | "gap" | undefined): void {
    const known = this.#workers.get(owner);
    if (known !== undefined) clearTimeout(known.isLate);
    if (state === undefined) return;
    if (state === "gap") {
      if (known !== undefined) known.isFree = true;
      if (this.#state !== "away") this.#say();
    } else if (state === "away") this.#workers.delete(owner);
    else if (known === undefined) this.#workers.set(owner, { isFree: state === "free", isLate: undefined });
    else known.isFree = state === "free";
  }

  close(): void {
    this.#listeners.clear();
    this.#become("away");
    this.#closed = true;
    for (const { isLate } of this.#workers.values()) clearTimeout(isLate);
  }

  /** What comes during a look may be about tasks that the look has already passed. One more look then covers all of it. */
  async #askAll(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    while (this.#offered + this.#told > 0) {
      const [offered, told] = [this.#offered, this.#told];
      [this.#offered, this.#told] = [0, 0];
      if (this.#listeners.size > 0 && (await this.#ask(offered + told))) continue;
      if (told > 0) this.#tellAll();
      else this.#tellOne(offered);
    }
    this.#isAsking = false;
  }

  async #ask(tasks: number): Promise<boolean> {
    const before = this.#spare;
    const answers = await Promise.all([...this.#listeners].map(({ listener }) => listener(tasks)));
    const tookAll = answers.includes(true);
    if (!tookAll && this.#spare === before) this.#become("busy");
    return tookAll;
  }

  #tellOne(tasks: number): void {
    const [owner, worker] = [...this.#workers].find(([, { isFree }]) => isFree) ?? [];
    if (owner === undefined || worker === undefined) return this.#tellAll();
    this.#workers.delete(owner);
    this.#workers.set(owner, worker); // moves it to the end
    this.#setup.send({ work: { owner, tasks } });
    clearTimeout(worker.isLate);
    worker.isLate = setTimeout(() => {
      this.#workers.delete(owner);
      this.#tellAll();
    }, this.#setup.patienceMs ?? patienceMs).unref();
  }

  #tellAll(): void {
    if (!this.#closed) this.#setup.send({ work: "all" });
  }

  #become(state: WorkerState): void {
    const next = this.#listeners.size === 0 ? "away" : state;
    if (next === this.#state || this.#closed) return;
    this.#state = next;
    this.#say();
  }

  #say(): void {
    this.#setup.send({ worker: this.#state });
  }
}

interface Worker {
  isFree: boolean;
  /** Runs from when it was told of tasks until it is heard of. */
  isLate: NodeJS.Timeout | undefined;
}
