import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { giveAway, readableBinaries, unprivileged, type Binaries } from "./binaries.ts";
import { freePort } from "./free-port.ts";

const run = promisify(execFile);

/** Values of `postgresql.conf` by their names. */
export type Settings = Readonly<Record<string, string>>;

/** What a stop leaves to be recovered: nothing after `fast`, as after a crash with `immediate`. */
export type StopMode = "fast" | "immediate";

const user = "holdfast";
const stopSignals = { fast: "SIGINT", immediate: "SIGQUIT" } as const;

const testSettings: Settings = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  max_connections: "200",
  shared_buffers: "128MB",
  timezone: "UTC",
  fsync: "on",
};

/** The data of a Postgres in a new folder, and the process that serves them while it is started. */
export class Cluster {
  readonly #folder: string;
  readonly #data: string;
  readonly #binaries: Binaries;
  readonly #settings: Settings;
  #port: number | undefined;
  #process: ChildProcess | undefined;

  private constructor(folder: string, data: string, binaries: Binaries, settings: Settings) {
    this.#folder = folder;
    this.#data = data;
    this.#binaries = binaries;
    this.#settings = settings;
  }

  /** Empty; or a standby with a copy of the data of a stopped server, which it follows as `primary_conninfo` says. */
  static async create(settings: Settings, copied?: string): Promise<Cluster> {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-postgres-"));
    try {
      const binaries = await readableBinaries(folder);
      const data = join(folder, "data");
      if (copied !== undefined) {
        await cp(copied, data, { recursive: true });
        await writeFile(join(data, "standby.signal"), "");
        await giveAway(folder);
        return new Cluster(folder, data, binaries, settings);
      }
      await mkdir(data);
      await giveAway(folder);
      const args = ["-D", data, "-U", user, "--auth=trust", "-E", "UTF8", "--locale=C", "--no-sync"];
      await run(binaries.initdb, args, { ...unprivileged, cwd: folder });
      return new Cluster(folder, data, binaries, settings);
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  /** The folder of its data. */
  get data(): string {
    return this.#data;
  }

  get url(): string {
    return `postgres://${user}@127.0.0.1:${this.#port}/postgres`;
  }

  /** The process that starts all others. */
  get pid(): number {
    return this.#process?.pid ?? Number.NaN;
  }

  /** Resolves when it takes connections, at the port of the first start. */
  async start(): Promise<void> {
    for (let tries = this.#port === undefined ? 5 : 1; ; tries--) {
      const port = this.#port ?? (await freePort());
      const problems = await this.#serve(port);
      if (problems === undefined) {
        this.#port = port;
        return;
      }
      // Somebody else may have come to the port first.
      if (tries === 1) throw new Error(`Postgres did not start: ${problems}`);
    }
  }

  async stop(mode: StopMode): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill(stopSignals[mode]);
    child.kill("SIGCONT");
    await exited;
  }

  async remove(): Promise<void> {
    await this.stop("immediate");
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  /** Resolves with what it said when it ended instead. */
  async #serve(port: number): Promise<string | undefined> {
    const settings = Object.entries({ ...testSettings, ...this.#settings, port: String(port) });
    const args = ["-D", this.#data, ...settings.flatMap(([name, value]) => ["-c", `${name}=${value}`])];
    const options = { ...unprivileged, cwd: this.#folder };
    const child = spawn(this.#binaries.postgres, args, { ...options, stdio: ["ignore", "ignore", "pipe"] });
    this.#process = child;
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      said = (said + chunk).slice(-10_000);
      if (/ready to accept (?:read-only )?connections/.test(said)) resolve(undefined);
    });
    child.once("exit", () => resolve(said));
    return promise;
  }
}
