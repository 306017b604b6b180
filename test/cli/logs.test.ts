import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { text } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { folder, startHoldfast, type RunningCli } from "./run-cli.ts";
import { runMain } from "./run-main.ts";
import { Pty } from "./terminal/pty.ts";

/** The way to a server, which can be cut and mended at the same address. */
async function cuttableWay(target: string) {
  const { hostname, port, pathname } = new URL(target);
  const open = new Set<Socket>();
  const way = createServer((socket) => {
    const onward = connect(Number(port), hostname);
    for (const each of [socket, onward]) {
      open.add(each);
      each.on("error", () => undefined);
      each.on("close", () => {
        open.delete(each);
        socket.destroy();
        onward.destroy();
      });
    }
    socket.pipe(onward).pipe(socket);
  });
  const listen = async (at: number): Promise<void> => {
    way.listen(at, "127.0.0.1");
    await once(way, "listening");
  };
  const cut = async (): Promise<void> => {
    const closed = once(way, "close");
    way.close();
    for (const socket of open) socket.destroy();
    await closed;
  };
  await listen(0);
  const at = (way.address() as AddressInfo).port;
  onTestFinished(async () => {
    if (way.listening) await cut();
  });
  return { url: `http://127.0.0.1:${at}${pathname}`, cut, mend: async () => listen(at) };
}

/** A task that logs what `log` is called with, until `end`. */
async function logging() {
  const lines: string[] = [];
  let told = Promise.withResolvers<void>();
  const tell = (line: string): void => {
    lines.push(line);
    told.resolve();
  };
  const { http } = await serve({
    tools: (tasks) =>
      tasks.tool("work", {}, async (_args, task) => {
        for (;;) {
          for (const line of lines.splice(0)) {
            if (line === "end") return text("done");
            await task.log("info", line);
          }
          await told.promise;
          told = Promise.withResolvers();
        }
      }),
    http: { anonymous: "shared" },
    options: { pollIntervalMs: 10 },
  });
  const way = await cuttableWay(http.url);
  const env = { HOLDFAST_STATE: await folder() };
  const id = (await runMain(["call", way.url, "work", "--detach"], { env })).stdout.trim();
  const follow = (): RunningCli => startHoldfast(["logs", id, "-f"], { env });
  return { ...way, env, id, follow, log: tell, end: () => tell("end") };
}

it(
  "follows live, through a time without its server, to the end of the task",
  { timeout: 60_000 },
  async () => {
    const { follow, log, end, cut, mend } = await logging();
    const running = follow();
    log("first");
    await running.printed(/ info +first\n/);
    await cut();
    await running.told(/^server unreachable, trying again$/m);
    log("second");
    await mend();
    await running.told(/^server reachable again$/m);
    await running.printed(/ info +second\n/);
    end();
    const { code, stdout, stderr } = await running.ended;
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: "server unreachable, trying again\nserver reachable again\ncompleted\n",
    });
    expect(stdout.replace(/^\S+ /gm, "")).toBe("info      first\ninfo      second\n");
  },
);

it("leaves the task alone at Ctrl-C, and says how to come back to it", { timeout: 60_000 }, async () => {
  const { follow, log, env, id } = await logging();
  const running = follow();
  log("first");
  await running.printed(/first/);
  running.kill("SIGINT");
  const { code, stderr } = await running.ended;
  expect(code).toBe(130);
  expect(stderr).toBe(
    `holdfast: Interrupted. The task continues. Come back to it with:\n  holdfast watch ${id}\n`,
  );
  expect((await runMain(["get", id], { env })).stdout).toMatch(/^status +working/m);
});

it(
  "keeps the lines above a live one on a terminal, and says there how the task ended",
  { timeout: 60_000 },
  async () => {
    const { log, end, env, id, cut, mend } = await logging();
    const pty = await Pty.holdfast(["logs", id, "-f"], { state: env.HOLDFAST_STATE, columns: 100 });
    log("first");
    await pty.sees(/ info +first$/m);
    await cut();
    await pty.sees(/server unreachable, trying again/);
    await mend();
    log("second");
    await pty.sees(/ first\n\S+ info +second$/m);
    end();
    await pty.sees(/^✔ work completed after \d+s$/m);
    expect(await pty.ends()).toBe(0);
  },
);

it("takes an id that begins with a dash", async () => {
  const { url, env } = await logging();
  const { code, stderr } = await runMain(["logs", "-abc", "-f", "--server", url], { env });
  expect({ code, stderr }).toEqual({ code: 5, stderr: expect.stringContaining("does not know") as string });
});
