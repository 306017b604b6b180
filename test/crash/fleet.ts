import { setTimeout as pause } from "node:timers/promises";
import type { Pace } from "./pace.ts";
import { Victim, type VictimOptions } from "./victim.ts";
import type { Server } from "./work.ts";

/** One process that serves, and the ways to it. */
export interface Member {
  readonly victim: Victim;
  readonly url: string;
  readonly server: Server;
  /** Aborts when it is killed. */
  readonly gone: AbortSignal;
}

/** Places for server processes that share their tasks; in each runs one process, or none. Dispose of it: that ends them all. */
export class Fleet implements AsyncDisposable {
  /** What processes had to say that nobody expects. */
  readonly complaints: string[] = [];
  readonly #options: (place: number) => VictimOptions;
  readonly #connect: (url: string) => Server;
  readonly #places: (Member | undefined)[];
  readonly #kills = new Map<Victim, AbortController>();
  #over = false;
  #disturbances = 0;
  #disturbedUntil = 0;
  readonly #pace: Pick<Pace, "ms">;

  constructor(
    size: number,
    options: (place: number) => VictimOptions,
    connect: (url: string) => Server,
    pace: Pick<Pace, "ms"> = {
      get ms() {
        return performance.now();
      },
    },
  ) {
    this.#pace = pace;
    this.#options = options;
    this.#connect = connect;
    this.#places = Array.from({ length: size }, () => undefined);
  }

  /** Those that serve; some of them may be stopped. */
  get members(): readonly Member[] {
    return this.#places.filter((member) => member !== undefined);
  }

  serves(place: number): boolean {
    return this.#places[place] !== undefined;
  }

  /** Whether a process may turn clients away, since another one is stopped or it is about to end itself; now, or a moment ago. */
  get isDisturbed(): boolean {
    return this.#disturbances > 0 || this.#pace.ms < this.#disturbedUntil;
  }

  /** Starts a process in a place that is free; resolves when it serves. */
  async start(place: number): Promise<void> {
    for (;;) {
      const wasDisturbed = this.isDisturbed;
      const [victim, gone] = this.#spawn(place);
      const url = await victim.ready();
      if (url !== undefined) {
        this.#places[place] = { victim, url, gone, server: this.#connect(url) };
        return;
      }
      // It does not wait for ever for a process that is stopped in a commit, and says so.
      if (!(wasDisturbed || this.isDisturbed) || !victim.stderr.includes("lock"))
        throw new Error(`A server did not start: ${victim.stderr}`);
    }
  }

  /** Starts a process and kills it while it starts. */
  async startInVain(place: number, ms: number): Promise<void> {
    const [victim] = this.#spawn(place);
    await pause(ms);
    await this.#end(victim);
  }

  async kill(place: number): Promise<void> {
    const member = this.#places[place];
    this.#places[place] = undefined;
    if (member !== undefined) await this.#end(member.victim);
  }

  /** Lets the process of a place end in order: its clients are turned away until it has. */
  async retire(place: number): Promise<void> {
    const victim = this.#places[place]?.victim;
    await this.during(async () => {
      await victim?.retire();
      await this.kill(place);
    });
  }

  /**
   * Stops the process of a place, which then is killed or goes on. With `holds` it is stopped anew until that says that the
   * process holds something that the others need, or seems never to do so.
   */
  async stop(place: number, ms: number, thenKill: boolean, holds?: () => Promise<boolean>): Promise<void> {
    const victim = this.#places[place]?.victim;
    await this.during(async () => {
      victim?.stop();
      for (let tries = 0; tries < 40 && holds !== undefined && !(await lasts(holds)); tries++) {
        victim?.continue();
        await pause(Math.random() * 4);
        victim?.stop();
      }
      await pause(ms);
      if (thenKill) await this.kill(place);
      else victim?.continue();
    });
  }

  /** Whether all processes serve, and their store answers them. */
  async isReady(): Promise<boolean> {
    const statuses = this.members.map(({ url }) =>
      fetch(new URL("/readyz", url), { signal: AbortSignal.timeout(5_000) }).then(
        ({ status }) => status,
        () => 0,
      ),
    );
    return (await Promise.all(statuses)).every((status) => status === 200);
  }

  /** Processes may turn clients away while this work is done. */
  async during(work: () => Promise<void>): Promise<void> {
    this.#disturbances++;
    await work();
    this.#disturbances--;
    // What was refused just before may be told of later.
    this.#disturbedUntil = this.#pace.ms + 1_000;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over = true; // what is under way may be about to start another one
    await Promise.all([...this.#kills.keys()].map((victim) => this.#end(victim)));
  }

  #spawn(place: number): [Victim, AbortSignal] {
    if (this.#over) throw new Error("The fleet has ended.");
    const victim = new Victim(this.#options(place));
    const killed = new AbortController();
    this.#kills.set(victim, killed);
    return [victim, killed.signal];
  }

  async #end(victim: Victim): Promise<void> {
    await victim.kill();
    this.#kills.get(victim)?.abort();
    this.#kills.delete(victim);
    this.complaints.push(...victim.stderr.split("\n").filter((said) => !isExpected(said, victim)));
  }
}

/** Whether it is so for longer than others take for a write. */
async function lasts(holds: () => Promise<boolean>): Promise<boolean> {
  for (let n = 0; n < 4; n++) {
    if (!(await holds())) return false;
    await pause(4);
  }
  return true;
}

/**
 * While a stopped process holds the file, those of the others that wait for it say so. In one that was stopped, a handler may have had none of the
 * time that it gets to hear that its task or its caller is gone. And the machine is busy.
 */
function isExpected(
  said: string,
  { wasStopped, mayHaveLostTasks }: Pick<Victim, "wasStopped" | "mayHaveLostTasks">,
): boolean {
  return (
    said === "" ||
    (mayHaveLostTasks && /"code":"(store_lost|fenced)"/.test(said)) ||
    (wasStopped && said.includes('"code":"handler_leaked"')) ||
    said.includes('"code":"store_failed"') ||
    /the event loop of process \d+ has not/.test(said)
  );
}
