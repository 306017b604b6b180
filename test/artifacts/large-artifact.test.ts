import { createHash } from "node:crypto";
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { connect, type SavedArtifact } from "holdfast/client";
import { expect, it, onTestFinished } from "vitest";
import { fullForm } from "../full-form.ts";
import { placeInFile, placeInPostgres, type Place } from "../places/place.ts";
import { content } from "./content.ts";

const size = fullForm ? 1_000_000_000 : 24_000_000;

/** The size of an artifact after which a process has loaded and compiled what it needs. */
const warmUp = 5_000_000;

/** How much more memory a process may take than after that, with its garbage (MiB). */
const most = 64;

interface Told {
  readonly url?: string;
  readonly half?: unknown;
  readonly grown?: number;
  readonly saved?: SavedArtifact;
}

/** A process, and what it has told. */
class Program {
  readonly child: ChildProcess;
  readonly #waiting = new Map<keyof Told, (told: Told) => void>();
  grown = 0;

  constructor(script: URL, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.child = fork(fileURLToPath(script), args, {
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "inherit", "ipc"],
    });
    onTestFinished(() => void this.child.kill("SIGKILL"));
    if (this.child.stdout === null) throw new Error("no output");
    createInterface(this.child.stdout).on("line", (line) => {
      const told = JSON.parse(line) as Told;
      this.grown = Math.max(this.grown, told.grown ?? 0);
      for (const name of ["url", "half", "saved"] as const)
        if (told[name] !== undefined) this.#waiting.get(name)?.(told);
    });
  }

  /** Resolves when it next tells this. */
  told(name: keyof Told): Promise<Told> {
    return new Promise((resolve) => this.#waiting.set(name, resolve));
  }

  async kill(): Promise<void> {
    const ended = once(this.child, "exit");
    this.child.kill("SIGKILL");
    await ended;
  }
}

async function start(place: Place, port = "0"): Promise<{ readonly program: Program; readonly url: string }> {
  const program = new Program(new URL("server.ts", import.meta.url), [place.at], { PORT: port });
  const { url = "" } = await program.told("url");
  return { program, url };
}

/** The same server in a new process. */
async function restart(place: Place, { program, url }: { readonly program: Program; readonly url: string }) {
  await program.kill();
  await place.killed(program.child.pid ?? 0);
  return start(place, new URL(url).port);
}

async function hashOf(chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of chunks) hash.update(chunk);
  return hash.digest("hex");
}

it.each([
  ["a file", async (folder: string) => placeInFile(join(folder, "tasks.db"))],
  ["Postgres", async () => placeInPostgres()],
])(
  "a large artifact goes from a handler to a client's disk, through kills on both ways, in little memory, with %s",
  async (_, placeIn) => {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-large-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
    const place = await placeIn(folder);
    onTestFinished(() => place.remove());
    /** In MiB. */
    const grown: Record<string, number> = {};
    const note = (when: string, { grown: bytes }: Program): void => {
      grown[when] = Math.round(bytes / 1024 ** 2);
    };

    const first = await start(place);
    const client = await connect(first.url, { pollFloorMs: 50, listen: false });
    onTestFinished(() => client.close());
    const linkIn = async (bytes: number): Promise<string> => {
      const { content: blocks } = await client.callTool("export", { bytes });
      const [link] = blocks;
      return link?.type === "resource_link" ? link.uri : "";
    };
    const small = await linkIn(warmUp);
    first.program.child.send("measure");
    const half = first.program.told("half");
    const made = linkIn(size);
    await half;
    note("server, first half stored", first.program);
    const second = await restart(place, first);
    await linkIn(warmUp);
    second.program.child.send("measure");
    const uri = await made;

    const path = join(folder, "data.bin");
    const saving = new Program(new URL("client.ts", import.meta.url), [first.url, small, uri, path]);
    const end = saving.told("saved");
    await saving.told("half");
    note("server, all stored and half read", second.program);
    const third = await restart(place, second);
    await linkIn(warmUp);
    third.program.child.send("measure");
    const { saved } = await end;
    note("server, second half read", third.program);
    note("client", saving);

    const sha256 = await hashOf(content(size));
    expect(saved).toMatchObject({ bytes: size, sha256 });
    expect(await hashOf(createReadStream(path))).toBe(sha256);
    const from = Math.floor(size * 0.75);
    const { contents } = await client.readResource(`${uri}?from=${from}&bytes=1000`);
    const [part] = contents;
    const read: Buffer[] = [];
    for await (const chunk of createReadStream(path, { start: from, end: from + 999 }))
      read.push(chunk as Buffer);
    expect(part).toMatchObject({ blob: Buffer.concat(read).toString("base64") });
    expect(Object.entries(grown).filter(([, mebibytes]) => mebibytes > most)).toEqual([]);
  },
  fullForm ? 3_600_000 : 480_000,
);
