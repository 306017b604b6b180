import { AsyncLocalStorage } from "node:async_hooks";
import type { TaskStore } from "../../src/store/store.ts";
import { memoryDatabase } from "../../src/store/sqlite/memory-store.ts";
import { decodeError, decodeValue } from "../../src/runtime/stored-values.ts";
import { callErrorOf } from "../../src/runtime/tool/tool-errors.ts";
import { HoldfastError } from "../../src/task/fault.ts";
import type { CommandResult, TaskCommand } from "../../src/task/command.ts";
import { isTerminal, type CallFailure } from "../../src/task/outcome.ts";
import type { TaskChanges, TaskSnapshot } from "../../src/task/record.ts";
import { CrashableStore } from "../../src/testing/crashable-store.ts";
import { rest } from "../../src/testing/clocks.ts";
import { seededRandom } from "../crash/random.ts";
import { nobody, Process, text, type Handler, type Setup } from "./harness.ts";
import {
  eventNames,
  inStep,
  limitName,
  loudSteps,
  oneOf,
  play,
  seededProgram,
  upTo,
  type Calls,
  type Random,
  type SeededProgram,
  type Witness,
} from "./seeded-programs.ts";
import { SeededClock } from "./seeded-clock.ts";
import { slowStore, turns } from "./slow-store.ts";
import { StepRuns, type Life } from "./step-runs.ts";
import { bodyText, runUndropped, type Undropped, type WholeJournal } from "./undropped.ts";

/** Who acts: no code of a handler is to run in anybody's context. */
const somebody = new AsyncLocalStorage<string>();

/** One run of a handler. */
interface Frame {
  readonly generation: number;
  readonly seen: string[];
  /** Its handler has returned. */
  closed: boolean;
}

interface SeededTool {
  readonly program: SeededProgram;
  readonly onCrash: "resume" | undefined;
  readonly timeoutMs: number | undefined;
  readonly attempts: number | undefined;
  readonly park: boolean;
  /** Its task is made when the handler needs one. */
  readonly promotes: boolean;
}

/** What a handler reports that sees all. */
interface Reports {
  readonly lines: string[];
  /** Those of steps that have ended, which are never missing. */
  readonly ofSteps: string[];
  readonly statuses: Set<string>;
  readonly progress: Set<number>;
}

interface Member extends Life {
  over: boolean;
  readonly store: CrashableStore;
  readonly process: Process;
  /** Since which round it stops; undefined if it does not. */
  stopping: number | undefined;
}

/** An end that an attempt wrote and its handler has not heard of. */
interface Unheard {
  readonly round: number;
  readonly key: string;
}

/** Errors of a member that stops or crashes, of handlers that return before their steps, and of steps that return instances. */
const expected = new Set([
  "store_closed",
  "store_lost",
  "stopping",
  "handler_leaked",
  "step_not_awaited",
  "not_json",
]);

/** Two processes on a database, their tasks, and all that happens to these, made from one seed. */
export class SeededWorld {
  readonly violations: string[] = [];
  readonly ids: string[] = [];
  /** How often what the invariants are about has happened. */
  readonly counts = { replays: 0, drains: 0, crashes: 0, parks: 0, retries: 0, gaveUp: 0, promotions: 0 };
  readonly #random: Random;
  readonly #clock: SeededClock;
  readonly #steps = new StepRuns();
  readonly #database = memoryDatabase();
  readonly #tools: readonly SeededTool[];
  readonly #concurrency: number;
  readonly #maxParkedFrames: number;
  readonly #members: Member[] = [];
  readonly #stops = new Map<Member, Promise<void>>();
  readonly #frames = new Map<string, Frame[]>();
  /** How often the handler of each task threw and was to run again, after which failed steps are forgotten. */
  readonly #generations = new Map<string, number>();
  /** Attempts that have given up their task. */
  readonly #over = new Set<string>();
  readonly #unheard = new Map<string, Unheard[]>();
  /** Attempts whose handler has ended, or was told to, and the end that was held back from it long before. */
  readonly #closed = new Map<string, Unheard | undefined>();
  /** What the store took of the statuses and the progress of handlers. */
  readonly #updates = new Map<string, TaskChanges[]>();
  #round = 0;
  #counted = 0;
  /** Whether a process has left handlers that had not reached an entry. */
  #unclean = false;

  constructor(seed: number, tasks: number) {
    const random = seededRandom(seed);
    this.#random = random;
    this.#clock = new SeededClock(seed);
    this.#concurrency = oneOf(random, [1, 2, 64, 64]);
    this.#maxParkedFrames = oneOf(random, [0, 1, 10_000]);
    this.#tools = Array.from({ length: tasks }, () => {
      const attempts = random() < 0.25 ? 3 : undefined;
      return {
        program: seededProgram(random),
        onCrash: random() < 0.5 ? "resume" : undefined,
        timeoutMs: random() < 0.15 ? 2_000 : undefined,
        attempts,
        park: random() < 0.8,
        promotes: attempts === undefined && random() < 0.3,
      };
    });
  }

  /** Runs the world to its end, and checks it. */
  async run(): Promise<void> {
    for (const by of [0, 1]) await this.#start(by);
    for (const [n, tool] of this.#tools.entries()) this.ids.push(await this.#call(n, tool));
    const happenings = 5 + upTo(this.#random, 20);
    for (let n = 0; n < happenings; n++) await this.#happen();
    await this.#endAll();
    for (const id of this.ids) await this.#check(id);
    await Promise.all([0, 1].map((by) => this.#stop(by, 100)));
    await this.#passUntil(() => this.#stops.size === 0, "it does not stop");
    this.#database.close();
    this.violations.push(...this.#steps.violations);
  }

  async #call(n: number, { promotes }: SeededTool): Promise<string> {
    const { process } = this.#member(n);
    if (!promotes) return process.callId(`tool${n}`);
    const origin = { capabilities: { elicitation: {} } };
    const call = { ...nobody, tool: `tool${n}`, arguments: {}, origin };
    let id = "";
    void process.runtime.call(call, new AbortController().signal).then((end) => {
      if (end.kind === "task") id = end.snapshot.task.id;
      else this.violations.push(`tool${n} was answered directly`);
    });
    await this.#passUntil(() => id !== "", `tool${n} gets no task`);
    this.counts.promotions++;
    return id;
  }

  async #happen(): Promise<void> {
    this.#round++;
    const random = this.#random;
    const by = upTo(random, 1);
    const id = this.ids[upTo(random, this.ids.length - 1)] ?? "";
    const what = random();
    await somebody.run(`somebody in round ${this.#round}`, async () => {
      if (what < 0.25) await this.#answer(by, id, 1 + upTo(random, 2));
      else if (what < 0.4) this.#send(by, id, oneOf(random, eventNames));
      else if (what < 0.65) await this.#clock.advance(oneOf(random, [1, 300, 700, 1_400, 3_000, 660_000]));
      else if (what < 0.75) await turns(upTo(random, 40));
      else if (what < 0.78) this.#ask(by, ({ runtime }) => runtime.cancel(id, nobody));
      else if (what < 0.8) this.#ask(by, ({ runtime }) => runtime.cancelNow(id, nobody));
      else if (what < 0.94) await this.#stop(by, oneOf(random, [500, 60_000, 600_000]));
      else await this.#crash(by);
      await rest();
    });
  }

  async #answer(by: number, id: string, count: number): Promise<void> {
    const { inputs = [] } = (await this.#member(by).process.store.snapshot(id)) ?? {};
    const chosen = inputs.slice(0, count).reverse();
    const answers = chosen.map(({ key }) => ({
      key,
      value: JSON.stringify({ action: "accept", content: { key, n: this.#counted++ } }),
    }));
    this.#ask(by, ({ runtime }) => runtime.answer(id, nobody, answers));
  }

  #send(by: number, id: string, name: string): void {
    const value = { name, at: new Date(this.#counted++) };
    this.#ask(by, ({ runtime }) => runtime.sendEvent(id, { name, value }));
  }

  /** Nobody waits for what comes of it: the task may have ended, and the process may stop. */
  #ask(by: number, call: (process: Process) => Promise<unknown>): void {
    call(this.#member(by).process).catch(() => undefined);
  }

  #member(by: number): Member {
    const member = this.#members[by % 2];
    if (member === undefined) throw new Error("not started");
    return member;
  }

  async #start(by: number): Promise<void> {
    const delays = Array.from({ length: 20 }, () => upTo(this.#random, 3));
    let next = 0;
    const delay = (): number => delays[next++ % delays.length] ?? 0;
    const store = new CrashableStore((inner) => slowStore(this.#watched(inner), delay), this.#database);
    const crashes = { maxCrashes: 99, crashBackoffMs: 1, maxCrashBackoffMs: 1 };
    const [concurrency, maxParkedFrames] = [this.#concurrency, this.#maxParkedFrames];
    const life = { over: false };
    const tools: Setup["tools"] = {
      child: { config: { onCrash: "resume" }, handler: child },
      ...Object.fromEntries(this.#tools.map((tool, n) => [`tool${n}`, this.#tool(tool, life)])),
    };
    const limits = { [limitName]: { concurrency: 1 } };
    const options = { concurrency, maxParkedFrames, cancelGraceMs: 5_000, limits, ...crashes };
    const process = somebody.exit(() => new Process({ tools, options }, this.#clock, store));
    const member: Member = Object.assign(life, { store, process, stopping: undefined });
    this.#members[by % 2] = member;
    let started = false;
    void process.runtime.start().then(() => (started = true));
    for (let n = 0; n < 200 && !started && !life.over; n++) await turns(20);
    if (!started && !life.over) this.violations.push("it does not start");
  }

  #tool(
    { program, onCrash, timeoutMs, attempts, park, promotes }: SeededTool,
    life: Life,
  ): Setup["tools"][string] {
    const config = {
      park,
      ...(promotes && { promoteAfterMs: 200 }),
      ...(onCrash !== undefined && { onCrash }),
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(attempts !== undefined && { retry: { attempts, backoff: { firstMs: 500, maxMs: 500 } } }),
    };
    return { config, handler: this.#handler(program, life) };
  }

  #handler(program: SeededProgram, life: Life): Handler {
    return async (_, task) => {
      this.#assertNobody(`the handler of attempt ${task.attempt}`);
      const { id, signal } = task;
      const attempt = `${id} ${task.attempt}`;
      signal.addEventListener("abort", () => {
        this.#assertNobody("a listener");
        this.#close(attempt);
      });
      const frame: Frame = { generation: this.#generations.get(id) ?? 0, seen: [], closed: false };
      if (!life.over && !signal.aborted) this.#frames.set(id, [...(this.#frames.get(id) ?? []), frame]);
      const over = this.#over;
      const held: Life = {
        get over() {
          return life.over || over.has(attempt);
        },
      };
      const witness: Witness = {
        ended: (key, end) => {
          if (life.over || frame.closed) return;
          if (this.#over.has(attempt)) this.violations.push(`attempt ${attempt} saw ${key} after its end`);
          frame.seen.push(`${key}: ${end}`);
          const unheard = this.#unheard.get(attempt)?.filter((each) => each.key !== key) ?? [];
          this.#unheard.set(attempt, unheard);
        },
        ran: (key, count, slow) => {
          this.#assertNobody(`step ${key}`);
          if (this.#over.has(attempt)) this.violations.push(`attempt ${attempt} ran ${key} after its end`);
          return this.#steps.run(held, id, key, async () => {
            await (slow ? this.#pause(2_000 * (1 + (count % 3))) : turns(count));
            return this.#counted++;
          });
        },
        pause: (ms) => this.#pause(ms),
      };
      const calls: Calls = Object.assign(Object.create(task) as typeof task, {
        log: (line: string) => task.log("info", line),
        status: (line: string) => task.status(line),
        progress: (done: number) => task.progress(done),
      });
      try {
        return text(await play(program, calls, witness));
      } finally {
        frame.closed = true;
        if (!life.over) this.#close(attempt);
      }
    };
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.#clock.after(ms, resolve));
  }

  #assertNobody(what: string): void {
    const who = somebody.getStore();
    if (who !== undefined) this.violations.push(`${what} runs in the context of ${who}`);
  }

  #watched(inner: TaskStore): TaskStore {
    const watched = this.#steps.watched(inner);
    return new Proxy(watched, {
      get: (target, name: keyof TaskStore) => {
        if (name !== "write") return target[name];
        return async (command: TaskCommand) => {
          const result = await target.write(command);
          if (result.ok) this.#committed(command, result);
          return result;
        };
      },
    });
  }

  #committed(command: TaskCommand, result: Extract<CommandResult, { ok: true }>): void {
    if (!("task" in result) || !("token" in command)) return;
    const { id, attempt } = result.task;
    const name = `${id} ${attempt}`;
    if (!this.ids.includes(id)) return; // a child's
    if (command.type === "record_step" || command.type === "end_sleep") {
      const { key } = command;
      this.#unheard.set(name, [...(this.#unheard.get(name) ?? []), { key, round: this.#round }]);
    }
    if (command.type === "update") this.#updates.set(id, [...(this.#updates.get(id) ?? []), command.changes]);
    if (command.type === "settle" || command.type === "retry") this.#assertHeard(name, command.type);
    if (command.type === "retry") {
      this.#generations.set(id, (this.#generations.get(id) ?? 0) + 1);
      this.counts.retries++;
    }
    if (command.type === "park") this.counts.parks++;
    if (["settle", "retry", "park", "release"].includes(command.type)) this.#over.add(name);
  }

  #close(attempt: string): void {
    if (this.#closed.has(attempt)) return;
    const heldBack = this.#unheard.get(attempt)?.find(({ round }) => round < this.#round - 1);
    this.#closed.set(attempt, heldBack);
  }

  /** An attempt ends its task: ends that were committed long before must have reached its handler, and not been held back. */
  #assertHeard(attempt: string, by: string): void {
    const heldBack = this.#closed.get(attempt);
    if (heldBack === undefined || this.#concurrency < 64) return; // it may have waited for a slot
    this.violations.push(`attempt ${attempt} wrote ${by} and never saw ${heldBack.key}`);
  }

  async #crash(by: number): Promise<void> {
    this.counts.crashes++;
    this.#unclean = true;
    const member = this.#member(by);
    this.#leave(member);
    this.#stops.delete(member);
    member.store.crash();
    await this.#start(by);
  }

  /** Begins to stop it, while others go on; another takes its place once it has stopped. */
  async #stop(by: number, withinMs: number): Promise<void> {
    const member = this.#member(by);
    if (member.stopping !== undefined) return;
    member.stopping = this.#round;
    this.counts.drains++;
    const deadline = this.#clock.now() + withinMs;
    const stopped = member.process.runtime.stop(withinMs).then(async () => {
      if (this.#clock.now() >= deadline) this.#unclean = true;
      if (member.over) return; // it crashed meanwhile
      this.#leave(member);
      await this.#start(by);
    });
    this.#stops.set(member, stopped);
    void stopped.then(() => this.#stops.delete(member));
  }

  #leave(member: Member): void {
    member.over = true;
    for (const error of member.process.errors) {
      if (error instanceof HoldfastError && expected.has(error.code)) continue;
      this.violations.push(`reported ${String(error)}`);
    }
  }

  async #passUntil(isDone: () => boolean, otherwise: string): Promise<void> {
    for (let n = 0; n < 300 && !isDone(); n++) {
      this.#round++;
      await this.#clock.advance(n < 50 ? 100 : 3_000);
    }
    if (!isDone()) this.violations.push(otherwise);
  }

  async #read(id: string): Promise<TaskSnapshot> {
    const snapshot = await this.#member(0).process.store.snapshot(id);
    if (snapshot === undefined) throw new Error(`no task ${id}`);
    return snapshot;
  }

  /** All is answered, and time goes on, until all has ended. */
  async #endAll(): Promise<void> {
    for (let round = 0; round < 200; round++) {
      this.#round++;
      await rest();
      const ended = await Promise.all(
        this.ids.map(async (id) => isTerminal((await this.#read(id)).task.state)),
      );
      if (ended.every(Boolean)) return;
      const { store } = this.#member(0).process;
      for (const { id } of await store.unfinished("", 100)) {
        await this.#answer(round, id, 99);
        for (const name of eventNames) this.#send(round, id, name);
      }
      await rest();
      await this.#clock.advance(round < 40 ? 3_000 : 300_000);
    }
    for (const id of this.ids) {
      const { task } = await this.#read(id);
      if (!isTerminal(task.state)) this.violations.push(`it never ends: ${JSON.stringify(task)}`);
    }
  }

  async #check(id: string): Promise<void> {
    const { task, outcome } = await this.#read(id);
    const tool = this.#tools[this.ids.indexOf(id)];
    if (tool === undefined) return;
    const generation = this.#generations.get(id) ?? 0;
    const frames = this.#frames.get(id) ?? [];
    this.counts.replays += Math.max(0, frames.length - 1);
    for (const [n, frame] of frames.entries()) {
      const before = frames[n - 1];
      if (before?.generation !== frame.generation) continue;
      this.#assertPrefix(`frame ${n} of ${id} against the one before`, frame.seen, before.seen);
    }
    const model = await this.#undropped(tool.program, await this.#journal(id));
    const last = frames.filter((frame) => frame.generation === generation);
    // What a frame of the last generation saw is what a handler sees that was never dropped.
    if (task.state === "settled" && tool.timeoutMs === undefined) {
      for (const { seen } of last)
        this.#assertPrefix(`a frame of ${id} against the journal`, seen, model.ends);
    }
    const body = outcome?.kind === "error" ? errorText(outcome.body) : bodyText(outcome);
    if (body?.includes("It gave up.") === true) this.counts.gaveUp++;
    if (body?.includes("The server stopped while") === true) {
      if (!this.#unclean) this.violations.push(`${id} failed of a stop in order`);
      return;
    }
    const gaveUp = tool.program.giveUpMs !== undefined && body?.includes("It gave up.") === true;
    const wasAborted = task.cancelRequestedAt !== null || tool.timeoutMs !== undefined;
    const isExact = task.state === "settled" && !wasAborted && !gaveUp;
    if (isExact && body !== model.body)
      this.violations.push(`${id} came to ${body}, and a handler that saw all to ${model.body}`);
    if (isExact && tool.attempts === undefined) await this.#checkReports(id, model.reports);
  }

  #assertPrefix(what: string, one: readonly string[], other: readonly string[]): void {
    const length = Math.min(one.length, other.length);
    for (let n = 0; n < length; n++) {
      if (one[n] === other[n]) continue;
      this.violations.push(`${what}: end ${n} is ${one[n]}, and was ${other[n]}`);
      return;
    }
  }

  /** Each line of the log is one that a handler appends which sees all, or its step, and is there once; so with the rest that it reports. */
  async #checkReports(id: string, { lines, ofSteps, statuses, progress }: Reports): Promise<void> {
    const log = (await this.#member(0).process.store.logs?.read(id, "log", 0, 1_000)) ?? [];
    const left = [...lines];
    for (const { body } of log) {
      const { text: line } = JSON.parse(body) as { text: string };
      const index = left.indexOf(line);
      if (index < 0) this.violations.push(`the log of ${id} has "${line}"`);
      else left.splice(index, 1);
    }
    for (const line of ofSteps) {
      if (left.includes(line)) this.violations.push(`the log of ${id} lacks "${line}"`);
    }
    for (const { statusMessage, progress: reported } of this.#updates.get(id) ?? []) {
      if (typeof statusMessage === "string" && !statuses.has(statusMessage))
        this.violations.push(`the status of ${id} was "${statusMessage}"`);
      if (reported && !progress.has(reported.progress))
        this.violations.push(`the progress of ${id} was ${reported.progress}`);
    }
  }

  async #journal(id: string): Promise<WholeJournal> {
    const { store } = this.#member(0).process;
    const entries: Awaited<ReturnType<typeof store.journal>>["entries"][number][] = [];
    for (let from: string | null = ""; from !== null;) {
      const page: Awaited<ReturnType<typeof store.journal>> = await store.journal(id, from, 100);
      entries.push(...page.entries);
      from = page.next;
    }
    const keys = entries.map(({ key }) => key);
    const ends = new Map((await store.journalEnds(id, keys)).map((end) => [end.key, end]));
    return new Map(
      entries.map((entry) => {
        const { value = null, error = null } = ends.get(entry.key) ?? {};
        return [entry.key, { ...entry, value, error, request: null }];
      }),
    );
  }

  async #undropped(
    program: SeededProgram,
    journal: WholeJournal,
  ): Promise<Undropped & { readonly reports: Reports }> {
    const reports: Reports = { lines: [], ofSteps: [], statuses: new Set(), progress: new Set() };
    const model = await runUndropped(journal, (endEntry, ended) => {
      const end = async (key: unknown, kind: "step" | "event" | "input" | "sleep"): Promise<unknown> => {
        const { value, error } = await endEntry(String(key), kind);
        if (error !== null) throw decodeError(error);
        return kind === "input" ? JSON.parse(value ?? "null") : decodeValue(value);
      };
      const calls = {
        signal: new AbortController().signal,
        step: (key: unknown) => end(key, "step"),
        poll: (key: unknown) => end(key, "step"),
        sleep: (key: unknown) => end(key, "sleep"),
        elicit: (key: unknown) => end(key, "input"),
        waitForEvent: (key: unknown) => end(key, "event"),
        call: async (key: unknown) => {
          const { value, error } = await endEntry(String(key), "call");
          if (error !== null) throw callErrorOf("child", JSON.parse(error) as CallFailure);
          return JSON.parse(value ?? "null") as unknown;
        },
        log: (line: string) => reports.lines.push(line),
        status: (line: string) => reports.statuses.add(line),
        progress: (done: number) => reports.progress.add(done),
      } as unknown as Calls; // whose step has two forms
      return play({ ...program, giveUpMs: undefined }, calls, {
        ended: (key, what) => ended(`${key}: ${what}`),
        ran: () => Promise.reject(new Error("It is in the journal.")),
        pause: () => turns(1),
      });
    });
    for (const key of loudSteps(program.body)) {
      reports.lines.push(inStep(key));
      if ((journal.get(key)?.doneAt ?? null) !== null) reports.ofSteps.push(inStep(key));
    }
    return { ...model, reports };
  }
}

/** Fails for one argument, takes its time, and asks. */
const child: Handler = async ({ n }, task) => {
  await task.sleep("sleep", 700);
  if (n === 3) throw new Error("The child failed.");
  if (n === 4)
    await task.elicit("ask", { message: "?", requestedSchema: { type: "object", properties: {} } });
  return text(`child ${String(n)}`);
};

/** A protocol error, in the form in which the model says what a handler threw. */
function errorText(body: string): string {
  const { message } = JSON.parse(body) as { message: string };
  return JSON.stringify({ ...text(message), isError: true });
}
