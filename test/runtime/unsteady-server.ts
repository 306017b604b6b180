import { HoldfastError } from "../../src/task/fault.ts";
import type { TaskStore } from "../../src/store/store.ts";
import { memoryDatabase } from "../../src/store/sqlite/memory-store.ts";
import type { TaskCommand } from "../../src/task/command.ts";
import type { RuntimeOptions } from "../../src/runtime/options.ts";
import type { TaskRecord, TaskSnapshot } from "../../src/task/record.ts";
import { CrashableStore } from "../../src/testing/crashable-store.ts";
import { FakeClock } from "../../src/testing/clocks.ts";
import { Process, text, type Handler, type Setup } from "./harness.ts";
import { play, type Program } from "./random-handlers.ts";
import { slowStore, turns, type Delays } from "./slow-store.ts";
import type { WholeJournal } from "./undropped.ts";

/** A process of the server, until it crashes or has stopped. */
interface Life {
  over: boolean;
  /** Calls of the store, and functions of steps, that are under way. */
  underWay: number;
  readonly end: PromiseWithResolvers<void>;
}

/** One run of a handler. */
interface Frame {
  readonly life: Life;
  dropped: boolean;
  closed: boolean;
  readonly ends: string[];
}

export interface UnsteadySetup {
  readonly programs: readonly Program[];
  /** Whether the task of each program may be parked. */
  readonly parks: readonly boolean[];
  readonly options: RuntimeOptions;
  readonly delay: Delays;
}

/** A server that can crash at any call of its store, and watches what its handlers do in all its lives. */
export class UnsteadyServer {
  readonly ids: string[] = [];
  /** What should not have been. */
  readonly violations: string[] = [];
  /** What the frames of each task saw, from the first on. */
  readonly frames = new Map<string, Frame[]>();
  /** Tasks whose handlers saw an aborted signal. */
  readonly aborted = new Set<string>();
  /** Tasks that were cancelled while they were parked, and until when their handlers have time to hear of that. */
  readonly cancelledParked = new Map<string, number>();
  /** Those that have ended before their handlers heard of it, which is not repeated in the next life. */
  readonly #endedUnheard = new Set<string>();
  drops = 0;
  crashes = 0;
  readonly #setup: UnsteadySetup;
  readonly #clock = new FakeClock();
  /** What its lives reported: not what goes on of them after their end. */
  readonly #errors: unknown[] = [];
  readonly #parkedTokens = new Set<string>();
  readonly #recorded = new Set<string>();
  #calls = 0;
  #runs = 0;
  #crashAt: { at: number; readonly after: boolean } | undefined;
  #life: Life = newLife();
  #inner: TaskStore | undefined;
  #store: CrashableStore;
  #process: Process;

  constructor(setup: UnsteadySetup) {
    this.#setup = setup;
    this.#store = new CrashableStore((inner) => this.#watched(inner), memoryDatabase());
    this.#process = this.#next();
  }

  programOf(id: string): Program {
    return this.#setup.programs[this.ids.indexOf(id)] ?? [];
  }

  get process(): Process {
    return this.#process;
  }

  get clock(): FakeClock {
    return this.#clock;
  }

  async start(): Promise<void> {
    await this.#process.runtime.start();
    for (const index of this.#setup.programs.keys()) {
      this.ids.push(await this.#process.callId(`tool${index}`));
    }
  }

  /** Crashes at the nth call of the store from now on: before it is done, or after. */
  crashAt(calls: number, after: boolean): void {
    this.#crashAt = { at: this.#calls + calls, after };
  }

  crash(): void {
    if (this.#life.over) return;
    this.crashes++;
    this.#crashAt = undefined;
    this.#end();
    this.#store.crash();
  }

  async stop(): Promise<void> {
    const life = this.#life;
    await this.#unlessOver(this.#process.runtime.stop());
    if (!life.over) this.#end();
  }

  /** Starts the server again where it has crashed or stopped. */
  async restart(): Promise<void> {
    while (this.#life.over) {
      this.#life = newLife();
      this.#store = this.#store.successor();
      this.#process = this.#next();
      await this.#unlessOver(this.#process.runtime.start());
    }
  }

  /** Until nothing goes on by itself. */
  async quiet(): Promise<void> {
    for (let round = 0; round < 400; round++) {
      await this.restart();
      const calls = this.#calls;
      for (let turn = 0; turn < 60 && calls === this.#calls; turn++) await turns(1);
      if (calls === this.#calls && this.#life.underWay === 0 && !this.#life.over) return;
    }
    this.violations.push("It does not come to rest.");
  }

  /** Past the calls that are counted, and at once. */
  async read(id: string): Promise<TaskSnapshot> {
    const snapshot = await this.#inner?.snapshot(id);
    if (snapshot === undefined) throw new Error(`no task ${id}`);
    return snapshot;
  }

  async journal(id: string): Promise<WholeJournal> {
    const { entries = [] } = (await this.#inner?.journal(id, "", 1_000)) ?? {};
    const ends =
      (await this.#inner?.journalEnds(
        id,
        entries.map(({ key }) => key),
      )) ?? [];
    const byKey = new Map(ends.map((end) => [end.key, end]));
    return new Map(
      entries.map((entry) => {
        const { value = null, error = null } = byKey.get(entry.key) ?? {};
        return [entry.key, { ...entry, value, error, request: null }];
      }),
    );
  }

  errors(): readonly unknown[] {
    const errors = [...this.#errors, ...(this.#life.over ? [] : this.#process.errors)];
    return errors.filter((error) => !isOfLateStep(error));
  }

  #next(): Process {
    const { options, delay, programs, parks } = this.#setup;
    const life = this.#life;
    const tools: Setup["tools"] = Object.fromEntries(
      programs.map((program, index) => {
        const config = { onCrash: "resume" as const, ...(parks[index] === true ? {} : { park: false }) };
        return [`tool${index}`, { config, handler: this.#handler(program, life) }];
      }),
    );
    const before: Setup["before"] = (call, id) => {
      if (call === "park" && id !== undefined && !life.over) this.#drops(id);
      return this.#during(life, turns(delay()));
    };
    return new Process({ tools, options, before }, this.#clock, this.#store);
  }

  #handler(program: Program, life: Life): Handler {
    return async (_, task) => {
      const frame: Frame = { life, dropped: false, closed: false, ends: [] };
      const frames = this.frames.get(task.id) ?? [];
      if (!life.over) this.frames.set(task.id, [...frames, frame]);
      const onAbort = (): void => void (!frame.dropped && !life.over && this.aborted.add(task.id));
      if (task.signal.aborted) onAbort();
      else task.signal.addEventListener("abort", onAbort);
      const ended = (key: string, end: string): void => {
        if (life.over || frame.closed) return;
        if (frame.dropped) this.violations.push(`A dropped frame went on: ${end}`);
        frame.ends.push(end);
      };
      const ran = async (key: string, count: number): Promise<string> => {
        if (!life.over) {
          if (frame.dropped) this.violations.push(`A dropped frame ran ${key}.`);
          if (this.#recorded.has(`${task.id} ${key}`)) this.violations.push(`${key} ran again.`);
        }
        await this.#during(life, turns(count));
        return `run ${this.#runs++}`;
      };
      try {
        return text(await play(program, task, { ended, ran }));
      } finally {
        if (frame.dropped && !life.over) this.violations.push("A dropped frame came to its end.");
        frame.closed = true;
      }
    };
  }

  async #during(life: Life, work: Promise<void>): Promise<void> {
    life.underWay++;
    await work;
    life.underWay--;
  }

  /** The frame that has the task is dropped. */
  #drops(id: string): void {
    this.drops++;
    const frame = this.frames.get(id)?.at(-1);
    if (frame !== undefined) frame.dropped = true;
  }

  #watched(inner: TaskStore): TaskStore {
    const life = this.#life;
    this.#inner = inner;
    const slow = slowStore(inner, this.#setup.delay);
    const watched = new Proxy(slow, {
      get: (target, name: keyof TaskStore) => {
        const member: unknown = target[name];
        if (typeof member !== "function" || name === "subscribe") return member;
        return async (...args: unknown[]) => {
          this.#calls++;
          life.underWay++;
          if (name === "write") this.#sees(args[0] as TaskCommand);
          const crashes = !life.over && this.#crashAt !== undefined && this.#crashAt.at <= this.#calls;
          if (crashes && this.#crashAt?.after === false) this.crash();
          try {
            const method = member as (...args: unknown[]) => Promise<unknown>;
            const under = method(...args);
            const result = await under;
            if (name === "write") this.#saw(life, args[0] as TaskCommand, result);
            return result;
          } finally {
            if (crashes) this.crash();
            life.underWay--;
          }
        };
      },
    });
    return watched;
  }

  #sees(command: TaskCommand): void {
    if (!("token" in command) || typeof command.token !== "string") return;
    if (this.#parkedTokens.has(command.token) && command.type !== "park") {
      this.violations.push(`A dropped frame wrote ${command.type}.`);
    }
    if (command.type === "park") this.#parkedTokens.add(command.token);
  }

  #saw(life: Life, command: TaskCommand, result: unknown): void {
    const { ok, reason, task, released } = result as {
      readonly ok: boolean;
      readonly reason?: string;
      readonly task?: TaskRecord;
      readonly released?: boolean;
    };
    if (command.type === "record_step" && ok) this.#recorded.add(`${command.id} ${command.key}`);
    if (reason === "duplicate") this.violations.push(`${command.type} came twice.`);
    if (command.type === "request_cancel" && ok && task?.lane === "woken" && task.cancelBy !== null) {
      this.cancelledParked.set(command.id, task.cancelBy);
    }
    if (command.type === "cancel" && ok) {
      if (released === true && !life.over) this.cancelledParked.set(command.id, Infinity);
      if (!this.aborted.has(command.id)) this.#endedUnheard.add(command.id);
      if (life.over) this.#forgetUnheard();
    }
  }

  async #unlessOver(work: Promise<void>): Promise<void> {
    let done = false;
    void work.then(() => (done = true));
    const { end } = this.#life;
    await Promise.race([work, end.promise, this.#tooLong(() => done)]);
  }

  async #tooLong(isDone: () => boolean): Promise<void> {
    const life = this.#life;
    for (let turn = 0; turn < 10_000; turn++) {
      if (isDone() || life.over) return;
      await turns(1);
    }
    this.violations.push("It neither starts nor stops.");
  }

  #forgetUnheard(): void {
    for (const id of this.#endedUnheard) if (!this.aborted.has(id)) this.cancelledParked.delete(id);
  }

  #end(): void {
    this.#life.over = true;
    this.#life.end.resolve();
    this.#errors.push(...this.#process.errors);
    this.#forgetUnheard();
  }
}

function newLife(): Life {
  return { over: false, underWay: 0, end: Promise.withResolvers() };
}

/** Handlers return while other branches of theirs run. */
function isOfLateStep(error: unknown): boolean {
  return error instanceof HoldfastError && error.code === "step_not_awaited";
}
