import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { chromiumPath } from "../browser/chromium.ts";
import { runMain } from "../cli/run-main.ts";
import { programOf } from "./our-side.ts";
import { PeerRecord } from "./record/peer-record.ts";

const counter = "<title>Counter</title><button onclick='this.textContent = +this.textContent + 1'>0</button>";

/** A page with a button that counts its clicks. */
async function page(): Promise<string> {
  const http = createServer((_, response) => {
    response.setHeader("content-type", "text/html").end(counter);
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => http.once("listening", resolve));
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/`;
}

const record = new PeerRecord("playwright-mcp", {
  peer: "Playwright over stdio",
  package: "@playwright/mcp",
  as: "server",
});

record.works("keeps a browser's page from one command in a session to the next", async () => {
  const state = await mkdtemp(join(tmpdir(), "holdfast-browser-"));
  const env = { HOLDFAST_STATE: state, HOME: state };
  const run = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await runMain(args, { env });
    if (code !== 0) throw new Error(`${args.join(" ")}: ${stderr}`);
    return stdout;
  };
  onTestFinished(async () => {
    await runMain(["close", "@page"], { env });
    await rm(state, { recursive: true, force: true });
  });
  const server = [process.execPath, programOf("@playwright/mcp", "playwright-mcp")];
  const options = ["--headless", "--no-sandbox", "--isolated", "--output-dir", state];
  const browser = ["--executable-path", chromiumPath()];
  const opened = await run("open", "@page", "--json", "--", ...server, ...options, ...browser);
  record.speaks((JSON.parse(opened) as { protocolVersion: string }).protocolVersion);
  await run("@page", "call", "browser_navigate", `url=${await page()}`);
  const shown = await run("@page", "call", "browser_snapshot");
  const [, button] = /button "0" .*\[ref=(\w+)\]/.exec(shown) ?? [];
  await run("@page", "call", "browser_click", "element=the counter", `target=${button}`);
  expect(await run("@page", "call", "browser_snapshot")).toContain('button "1"');
});

record.isAsWritten();
