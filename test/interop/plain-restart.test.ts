import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { fullForm } from "../full-form.ts";
import { EverythingServer } from "../conformance/everything-server.ts";
import { ticketOf } from "../server/plain/job.ts";
import { sdkV1, sdkV2 } from "./plain-clients.ts";

const clients = [["SDK v1's client", sdkV1] as const, ["SDK v2's client", sdkV2] as const];

it.each(fullForm ? clients : clients.slice(0, 1))(
  "%s gets the result of a call whose server was killed after the ticket",
  { timeout: 60_000 },
  async (_, open) => {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-plain-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const start = (deadline: string): EverythingServer => {
      const server = new EverythingServer({
        env: {
          EVERYTHING_PLAIN: "ticket",
          EVERYTHING_PLAIN_DEADLINE_MS: deadline,
          HOLDFAST_STORE: `sqlite:${join(folder, "tasks.db")}`,
        },
      });
      onTestFinished(async () => void (await server.stop()));
      return server;
    };
    const path = join(folder, "lines.txt");
    const first = start("100");
    const client = await open({ url: await first.url });
    const job = { path, count: 3, delayMs: 500 };
    const { reference } = ticketOf(await client.call("append_lines", job));
    await first.stop("SIGKILL");
    const second = await open({ url: await start("1000").url });
    // The same call is still the same task, and its result is not yet handed out.
    let result = await second.call("append_lines", job);
    while (ticketOf(result).status === "working") {
      expect(ticketOf(result).reference).toBe(reference);
      result = await second.call("task_result", { reference });
    }
    expect(result).toMatchObject({ content: [{ type: "text", text: "done 3" }] });
    const lines = (await readFile(path, "utf8")).trim().split("\n");
    const numbers = lines.map((line) => Number(line.split(" ")[0]));
    // A line whose step was under way at the kill may be there twice; none is missing, and the first is not written anew.
    expect([...new Set(numbers)]).toEqual([1, 2, 3]);
    expect(lines.length).toBeLessThan(5);
  },
);
