import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished } from "vitest";
import { chromiumOfFile } from "../browser/chromium-of-file.ts";
import { EverythingServer } from "../conformance/everything-server.ts";
import { freePort } from "../postgres/free-port.ts";
import { programOf } from "./our-side.ts";
import { PeerRecord } from "./record/peer-record.ts";

const inspector = "@modelcontextprotocol/inspector";
const chromium = chromiumOfFile();

describe("MCP Inspector's page", () => {
  const record = new PeerRecord("inspector-page", {
    peer: "MCP Inspector, web page in Chromium",
    package: inspector,
    as: "client",
  });
  let home = "";
  let address = "";
  let server: EverythingServer;
  let program: ChildProcess;
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "holdfast-peers-"));
    server = new EverythingServer();
    const args = ["--web", "--server-url", await server.url, "--transport", "http"];
    program = spawn(process.execPath, [programOf(inspector, "mcp-inspector"), ...args], {
      env: {
        ...process.env,
        HOME: home,
        MCP_AUTO_OPEN_ENABLED: "false",
        MCP_INSPECTOR_SECRET_STORE: "memory",
        CLIENT_PORT: String(await freePort()),
      },
      stdio: ["ignore", "pipe", "ignore"],
    });
    if (program.stdout === null) throw new Error("It has no output.");
    for await (const line of createInterface(program.stdout)) {
      [address = ""] = /http:\S+API_TOKEN=\w+/.exec(line) ?? [];
      if (address !== "") break;
    }
  }, 120_000);
  afterAll(async () => {
    const ended = once(program, "exit");
    program.kill("SIGKILL");
    await Promise.all([ended, server.stop()]);
    await rm(home, { recursive: true, force: true, maxRetries: 5 });
  }, 60_000);

  /** The page, connected, which has called this tool as a task. */
  async function called(tool: string, fields: Readonly<Record<string, string>> = {}): Promise<Page> {
    const page = await chromium().newPage({ viewport: { width: 1_500, height: 1_000 } });
    onTestFinished(() => page.close());
    await page.goto(address);
    await page.getByRole("switch").first().click({ force: true });
    await page.getByText("MCP 2025-11-25").waitFor();
    record.speaks("2025-11-25");
    await page.getByText("Tools", { exact: true }).first().click();
    await page.getByRole("button", { name: tool, exact: true }).click();
    for (const [name, value] of Object.entries(fields)) await page.getByRole("textbox", { name }).fill(value);
    await page.getByLabel("Run as task").check({ force: true });
    await page.getByRole("button", { name: "Execute Tool" }).click();
    return page;
  }

  record.works("shows a task that it started in its task list, and cancels it", async () => {
    const page = await called("never_ends");
    await page.getByText("Tasks", { exact: true }).first().click();
    await page.getByText("Active (1)").waitFor();
    await page.getByRole("button", { name: "Cancel Task" }).click();
    await page.getByText("Completed (1)").waitFor();
    await page.getByText("CANCELLED").first().waitFor();
  });
  record.works("shows a task's question, sends the answer, and shows the result", async () => {
    const page = await called("confirm_delete", { filename: "notes.md" });
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Delete it").check({ force: true });
    await dialog.getByRole("button", { name: "Submit" }).click();
    await page.getByText("Would delete notes.md.").first().waitFor();
    expect(await dialog.count()).toBe(0);
  });
  record.isAsWritten();
});
