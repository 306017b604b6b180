import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { PostgresStoreOptions } from "holdfast/postgres";
import type { Client } from "pg";
import { expect, onTestFinished } from "vitest";
import { expectHonestEnd } from "../crash/honest-end.ts";
import type { Job } from "../crash/job.ts";
import { readLog, repeatedSteps, runsOf, type LogLine } from "../crash/log.ts";
import { onlookerAt } from "../crash/onlooker.ts";
import { seededRandom } from "../crash/random.ts";
import { Work, type Server } from "../crash/work.ts";
import { wrongHistories } from "../histories/linearizable.ts";
import { withClient } from "../postgres/with-client.ts";
import { NodeProcess } from "./node-process.ts";

/** How long everything may take to come to its end after the last disturbance: far longer than it does. */
const patienceMs = 60_000;
/** Clients give up on a node that says nothing, and go to another. */
const clientPatienceMs = 5_000;
/** What a node may answer while it, or its database, is struck, or the machine is busy with other things: nothing was promised then. */
const refusals = /The task store is not answering|considered this one dead/;
/** What nodes may report then. */
const reports: readonly string[] = ["store_failed", "store_lost", "fenced", "handler_leaked"];

const askedAgain = "asks again what was answered";

export interface SceneSetup {
  readonly url: string;
  readonly tasks: number;
  readonly seed: number;
  readonly options: PostgresStoreOptions;
  /** Where a node connects, by its number. */
  readonly urlOf?: (node: number) => string;
  /** A node that did not hear of an answer may push the question to a client of 2025-11-25 once more. */
  readonly mayAskAgain?: boolean;
}

/** Three nodes on one database, with clients that have tasks in flight at all of them. */
export class Scene {
  readonly nodes: NodeProcess[] = [];
  readonly #setup: SceneSetup;
  readonly #folder: string;
  readonly #random: () => number;
  readonly #work: Work;
  readonly #servers = new Map<NodeProcess, Server>();
  readonly #over = new AbortController();
  #driven: Promise<void>[] = [];

  private constructor(setup: SceneSetup, folder: string) {
    this.#setup = setup;
    this.#folder = folder;
    this.#random = seededRandom(setup.seed);
    this.#work = new Work(this.#random, ({ message }) => refusals.test(message));
  }

  /** Resolves when many tasks are in flight. */
  static async open(setup: SceneSetup): Promise<Scene> {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-chaos-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
    const scene = new Scene(setup, folder);
    onTestFinished(() => scene.#end());
    await Promise.all([0, 1, 2].map(() => scene.startNode()));
    scene.#work.add(false, setup.tasks);
    scene.#driven = scene.#work.jobs.map((job) => scene.#drive(job));
    const acknowledged = (): number => scene.#work.jobs.filter(({ taskId }) => taskId !== undefined).length;
    await until(() => acknowledged() >= setup.tasks / 2);
    return scene;
  }

  get url(): string {
    return this.#setup.url;
  }

  async startNode(): Promise<NodeProcess> {
    const { url, options, urlOf } = this.#setup;
    const at = urlOf?.(this.nodes.length) ?? url;
    const node = await NodeProcess.start(this.#logFile, [at, options]);
    this.nodes.push(node);
    this.#servers.set(
      node,
      this.#work.serverAt(node.url, () => clientPatienceMs),
    );
    return node;
  }

  /** Resolves when all nodes that live are ready: they get there by themselves. */
  async #recovered(): Promise<void> {
    const notReady = async (): Promise<readonly object[]> => {
      const nodes = await Promise.all(
        this.#living.map(async (node) => ({ node, isReady: await node.isReady() })),
      );
      return nodes.filter(({ isReady }) => !isReady).map(({ node: { pid, endedBy } }) => ({ pid, endedBy }));
    };
    await expect.poll(notReady, { timeout: patienceMs }).toEqual([]);
  }

  query<Row extends object>(sql: string, values: readonly unknown[] = []): Promise<Row[]> {
    return withClient(this.url, async (client: Client) => (await client.query<Row>(sql, [...values])).rows);
  }

  /** What the nodes did. */
  get lines(): readonly LogLine[] {
    return readLog(this.#logFile);
  }

  /** Nobody strikes any more: the nodes are ready again, everything ends, and nothing that was acknowledged is lost. */
  async expectKept(): Promise<void> {
    await this.#recovered();
    const { jobs, violations } = this.#work;
    const timer = setTimeout(() => this.#over.abort(), patienceMs);
    await Promise.all(this.#driven);
    clearTimeout(timer);
    const { mayAskAgain = false } = this.#setup;
    expect(violations.filter((each) => !(mayAskAgain && each.endsWith(askedAgain)))).toEqual([]);
    expect(this.#work.open).toEqual([]);
    const onlooker = onlookerAt(this.url);
    await expect.poll(() => onlooker.count("unfinished"), { timeout: patienceMs }).toBe(0);
    expect(this.nodes.map(({ endedBy }) => endedBy)).toEqual(this.nodes.map(() => undefined));

    const { lines } = this;
    expect(repeatedSteps(lines)).toEqual([]);
    const runsOfOnce = runsOf(lines, "whole");
    expect(runsOfOnce).toEqual([...new Set(runsOfOnce)]);
    for (const job of jobs) expectHonestEnd(job, lines);
    expect(await onlooker.problems(jobs)).toEqual([]);
    // No lost answer has made a second task.
    expect(await onlooker.count("keyed")).toBe(jobs.filter(({ key }) => key).length);
    const tasks = jobs.filter(({ taskId }) => taskId !== undefined);
    for (const node of this.#living) {
      const server = this.#work.serverAt(node.url);
      const shown = await Promise.all(tasks.map((job) => this.#work.endAt(server, job)));
      expect(shown).toEqual(tasks.map(({ ended }) => ended));
    }
    expect(wrongHistories(this.#work.history.operations)).toEqual([]);
    await Promise.all(this.nodes.map((node) => node.kill()));
    const reported = (await Promise.all(this.nodes.map((node) => node.reported()))).flat();
    expect(reported.filter((code) => !reports.includes(code))).toEqual([]);
  }

  get #living(): readonly NodeProcess[] {
    return this.nodes.filter(({ gone }) => !gone.aborted);
  }

  get #logFile(): string {
    return join(this.#folder, "log");
  }

  /** Drives a job a little at one node, then at another, until it has ended. */
  async #drive(job: Job): Promise<void> {
    while (!this.#over.signal.aborted && job.ended === undefined) {
      const node = this.#living[Math.floor(this.#random() * this.#living.length)];
      const server = node === undefined ? undefined : this.#servers.get(node);
      if (node !== undefined && server !== undefined) {
        const leg = AbortSignal.any([this.#over.signal, node.gone, AbortSignal.timeout(1)]);
        await this.#work.driveJob(job, server, leg);
      }
      await pause(50 + this.#random() * 150);
    }
  }

  async #end(): Promise<void> {
    this.#over.abort();
    await Promise.all(this.nodes.map((node) => node.kill()));
    await Promise.all(this.#driven);
  }
}

/** Resolves when it is so. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  await expect.poll(isSo, { timeout: patienceMs, interval: 50 }).toBe(true);
}
