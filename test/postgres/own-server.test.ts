import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, test, vi } from "vitest";
import { OwnServer } from "./own-server.ts";
import { withClient } from "./with-client.ts";

const program = fileURLToPath(new URL("./server-holder.ts", import.meta.url));

const folderOf = (url: string): Promise<string> =>
  withClient(url, async (client) => {
    const { rows } = await client.query<{ data_directory: string }>("show data_directory");
    return rows[0]?.data_directory ?? "";
  });

test("holds what was committed when it is stopped as if it had crashed, and is reached by the same URL after", async () => {
  await using server = await OwnServer.start({ synchronous_commit: "on" });
  const { url, pid } = server;
  await withClient(url, (client) => client.query("create table kept as select 7 as value"));
  await server.stop("immediate");
  await expect(withClient(url, (client) => client.query("select 1"))).rejects.toThrow("ECONNREFUSED");
  await server.start();
  expect(server.url).toBe(url);
  expect(server.pid).not.toBe(pid);
  const { rows } = await withClient(server.url, (client) => client.query("table kept"));
  expect(rows).toEqual([{ value: 7 }]);
});

test("has the settings that a test chose, and leaves neither process nor data", async () => {
  const server = await OwnServer.start({ fsync: "off", max_connections: "7" });
  const { url, pid } = server;
  const { rows } = await withClient(url, (client) =>
    client.query(
      "select current_setting('fsync') as fsync, current_setting('max_connections') as connections",
    ),
  );
  expect(rows).toEqual([{ fsync: "off", connections: "7" }]);
  const folder = await folderOf(url);
  expect(existsSync(folder)).toBe(true);
  await server.end();
  expect(existsSync(folder)).toBe(false);
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
});

test("tells why it does not start", async () => {
  await expect(OwnServer.start({ max_connections: "none" })).rejects.toThrow('"max_connections"');
});

test.each(["SIGTERM", "SIGKILL"] as const)(
  "leaves neither process nor data when the process that started it ends by %s",
  async (signal) => {
    const holder = spawn(process.execPath, [program], { stdio: ["ignore", "pipe", "inherit"] });
    const exited = once(holder, "exit");
    const [line] = await once(createInterface(holder.stdout), "line");
    const [pid = "", url = ""] = String(line).split(" ");
    const folder = await folderOf(url);
    holder.kill(signal);
    await exited;
    await vi.waitFor(
      () => {
        expect(() => process.kill(Number(pid), 0)).toThrow("ESRCH");
        expect(existsSync(folder)).toBe(false);
      },
      { timeout: 20_000 },
    );
  },
);
