// Draws docs/screens/*.png, pictures of the dashboard, from sample tasks in Chromium: npm run docs:screens
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { connect } from "holdfast/client";
import { adminToken, createDashboard, serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import { createServer } from "node:http";
import { once } from "node:events";
import type { Page } from "playwright-core";
import { startChromium } from "../test/browser/chromium.ts";
import { compressPng } from "./screens/compress-png.ts";
import { sampleActivity, sampleNodes } from "./screens/sample-activity.ts";
import { addSampleTools } from "./screens/sample-tools.ts";

// Time starts on the same day in each run, and jumps when tools are said to work.
const realNow = Date.now;
let ahead = Date.UTC(2026, 10, 23, 9, 2) - realNow();
Date.now = () => realNow() + ahead;
const work = (seconds: number): void => void (ahead += seconds * 1_000);

const token = "token-of-the-operator-of-the-pictures";
const folder = mkdtempSync(join(tmpdir(), "holdfast-screens-"));
const pictures = fileURLToPath(new URL("../docs/screens/", import.meta.url));
mkdirSync(pictures, { recursive: true });

const tasks = createTasks({ store: sqliteStore(join(folder, "tasks.db")), rates: { maxLoopDelayMs: null } });
addSampleTools(tasks, work);
const http = await serveHttp(
  tasks.server(() => new McpServer({ name: "shop", version: "1.0.0" })),
  { port: 0, authenticate: async ({ headers }) => headers.get("authorization")?.replace("Bearer ", "") },
);

async function call(caller: string, tool: string, args: Readonly<Record<string, unknown>>): Promise<string> {
  const client = await connect(http.url, {
    token: caller,
    capabilities: { elicitation: { form: {} } },
    onInput: () => new Promise(() => undefined),
  });
  const { taskId } = await client.startTool(tool, args);
  await client.close();
  return taskId ?? "";
}

const rests = ["completed", "failed", "input_required"];

/** Calls a tool, and waits until its task is idle, or has called another one. */
async function ran(caller: string, tool: string, args: Readonly<Record<string, unknown>>): Promise<string> {
  const id = await call(caller, tool, args);
  for (;;) {
    await pause(20);
    const { state, progress, children } = await tasks.admin.show(id);
    const goesOn = progress?.progress === 2 || children.some((child) => child.progress?.progress === 2);
    if (rests.includes(state) || (args["goesOn"] === true && goesOn) || (tool === "campaign" && goesOn))
      break;
  }
  return id;
}

for (const month of ["2026-04", "2026-05", "2026-06"]) {
  await ran("erin@example.com", "report", { month });
  work(171);
}
await ran("ci", "publish", { page: "blog/2026-11-release" });
work(94);
await ran("ci", "publish", { page: "pricing" });
work(128);
await ran("ci", "publish", { page: "pricing/enterprise" });
work(233);
await ran("frank@example.com", "report", { month: "2026-07" });
work(64);
const cancelled = await ran("erin@example.com", "report", { month: "2026-08", goesOn: true });
work(17);
await tasks.admin.as("ann").cancel(cancelled);
await ran("erin@example.com", "report", { month: "2026-08" });
work(203);
const deploy = await ran("ci", "deploy", { service: "checkout", version: "3.14.2" });
work(75);
await ran("ci", "publish", { page: "docs/changelog" });
work(41);
const last = await ran("ci", "publish", { page: "pricing/team" });
work(12);
await tasks.admin.as("ann").retry(last);
await tasks.admin.as("ann").extend(deploy, Date.now() + 86_400_000);
work(9);
await tasks.admin.as("ravi").pause("publish");
work(1.5);
await ran("grace@example.com", "campaign", { name: "november-newsletter", month: "2026-10" });
work(5.2);
await ran("frank@example.com", "report", { month: "2026-09", goesOn: true });
work(3);

const { owner } = await tasks.admin.show(deploy);
const admin = {
  ...tasks.admin,
  activity: async ({ minutes = 60 } = {}) => sampleActivity(Date.now(), minutes),
  nodes: async () => sampleNodes(Date.now(), owner),
};
const dashboard = createDashboard(admin, { authenticate: adminToken(token, "ann") });
const server = createServer(dashboard).listen(0, "127.0.0.1");
await once(server, "listening");
const address = server.address();
const origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/holdfast`;

const screens: readonly (readonly [name: string, path: string, shown: (page: Page) => Promise<unknown>])[] = [
  ["tasks", "/", (page) => page.getByRole("row", { name: "campaign" }).first().waitFor()],
  ["task", `/tasks/${deploy}`, (page) => page.getByRole("row", { name: "approval" }).waitFor()],
  ["tools", "/tools?tool=publish", (page) => page.getByRole("row", { name: "The mirror" }).first().waitFor()],
  ["nodes", "/nodes", (page) => page.getByRole("row", { name: "worker-1" }).waitFor()],
  ["refusals", "/refusals", (page) => page.getByRole("row", { name: "unauthorized" }).waitFor()],
  ["actions", "/actions", (page) => page.getByRole("row", { name: "Paused" }).waitFor()],
];

const browser = await startChromium();
for (const colorScheme of ["light", "dark"] as const) {
  const page = await browser.newPage({
    viewport: { width: 1_280, height: 800 },
    colorScheme,
    locale: "en-GB",
    timezoneId: "UTC",
  });
  await page.clock.setFixedTime(Date.now());
  const draw = async (name: string): Promise<void> => {
    const png = await page.screenshot({ animations: "disabled" });
    writeFileSync(join(pictures, `${name}-${colorScheme}.png`), compressPng(png));
  };
  await page.goto(`${origin}/`);
  await draw("login");
  await page.getByLabel("Operator token").fill(token);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByText("Live", { exact: true }).waitFor();
  for (const [name, path, shown] of screens) {
    await page.goto(`${origin}${path}`);
    await page.setViewportSize({ width: 1_280, height: name === "task" ? 1_240 : 800 });
    await shown(page);
    await page.getByText("Live", { exact: true }).waitFor();
    await draw(name);
  }
}
await browser.close();
dashboard.close();
server.closeAllConnections();
server.close();
await http.close();
rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
