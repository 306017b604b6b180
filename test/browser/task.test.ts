import { expect, it } from "vitest";
import { chromiumOfFile, patience } from "./chromium-of-file.ts";
import { markup } from "./markup.ts";
import { Site, type SiteNode } from "./site.ts";
import { Visitor } from "./visitor.ts";

const chromium = chromiumOfFile();

interface Opened {
  readonly site: Site;
  readonly node: SiteNode;
  readonly id: string;
  readonly visitor: Visitor;
}

/** The page of a task that was just started. */
async function opened(tool: string, word: string): Promise<Opened> {
  const site = await Site.inNewFolder();
  const node = await site.serve();
  const id = await node.start(tool, word);
  const visitor = await Visitor.open(chromium(), node.origin, { path: `/tasks/${id}` });
  await visitor.heading(tool).waitFor();
  return { site, node, id, visitor };
}

it("shows what a task does as it does it", patience, async () => {
  const { site, visitor } = await opened("report", "june");
  const { page } = visitor;
  await visitor.heading("report Running").waitFor();
  await visitor.row("step collect done").waitFor();
  expect(await visitor.row("Attempt 1 running").count()).toBe(1);
  expect(await visitor.row("step write").count()).toBe(0);
  const log = page.getByRole("log", { name: "Log" });
  const output = page.getByRole("log", { name: "Output" });
  await log.getByText("Collected 2 rows").waitFor();
  await output.getByText("First half of june").waitFor();
  await page.getByText("Half of june is written").waitFor();
  expect(await page.getByRole("region", { name: "Arguments" }).innerText()).toContain('"word": "june"');

  site.openGate("june");
  await visitor.heading("report Completed").waitFor();
  await output.getByText("Second half of june").waitFor();
  await log.getByText("Wrote june").waitFor();
  await visitor.row("step write done").waitFor();
  await visitor.row("Attempt 1 completed").waitFor();
  await page.getByText("The report of june is ready.").waitFor();
  await log.page().getByLabel("Minimum level").selectOption("warning");
  await log.getByText("Collected 2 rows").waitFor({ state: "detached" });
  expect(await log.getByText("Wrote june").isVisible()).toBe(true);
});

it("answers a question by the form that it asks with", patience, async () => {
  const { visitor } = await opened("deploy", "the site");
  const { page } = visitor;
  await visitor.heading("deploy Needs input").waitFor();
  const form = page.getByRole("form", { name: "Answer where" });
  await page.getByText("Where does the site go?").waitFor();
  await form.getByRole("button", { name: "Accept" }).click();
  await form.getByText("This field is required.").first().waitFor();
  expect(await page.evaluate("document.activeElement.name")).toMatch(/environment$/);
  await form.getByLabel("Environment").selectOption("production");
  await form.getByLabel("Replicas").fill("12");
  await form.getByLabel("Note").fill("go");
  await form.getByLabel("Tell the team").uncheck();

  // What the form cannot judge, the server does; what was typed stays.
  visitor.expectFaults(/status of 400/);
  await form.getByRole("button", { name: "Accept" }).click();
  await form.getByRole("alert").waitFor();
  expect(await form.getByLabel("Note").inputValue()).toBe("go");
  await form.getByLabel("Replicas").fill("3");
  await form.getByLabel("Note").fill("go on");
  await form.getByRole("button", { name: "Accept" }).click();
  await visitor.heading("deploy Completed").waitFor();
  const given = { environment: "production", replicas: 3, notify: false, note: "go on" };
  await page.getByText(`accept ${JSON.stringify(given)}`).waitFor();
  await visitor.row("ann answer").waitFor();
});

it("cancels a task", patience, async () => {
  const { site, visitor } = await opened("report", "june");
  const { page } = visitor;
  await site.logged("(waits)", "june");
  await visitor.act("Cancel…", "Cancel the task");
  await visitor.heading("report Cancelled").waitFor();
  await visitor.row("ann cancel").waitFor();
  expect(await page.getByRole("button", { name: "Cancel…" }).count()).toBe(0);
});

it("runs a task again from a step on, with what was before that", patience, async () => {
  const { site, id, visitor } = await opened("report", "june");
  const { page } = visitor;
  site.openGate("june");
  await visitor.heading("report Completed").waitFor();
  await page.getByRole("button", { name: "Run again…" }).click();
  await page.getByLabel("Start").selectOption("after collect");
  await page.getByRole("button", { name: "Run again", exact: true }).click();
  await page.waitForURL((url) => !url.pathname.endsWith(id));
  await visitor.heading("report Completed").waitFor();
  expect(site.stepsOf("june")).toEqual(["collect", "write", "write"]);
  await page.getByRole("link", { name: id }).click();
  await visitor.row("ann Ran a task again").waitFor();
  expect(visitor.path).toBe(`/tasks/${id}`);
});

it("keeps a task for longer, and deletes it", patience, async () => {
  const { id, visitor } = await opened("quick", "june");
  const { page } = visitor;
  await visitor.heading("quick Completed").waitFor();
  await page.getByRole("button", { name: "Extend…" }).click();
  await page.getByLabel("Keep until").fill("2099-01-02T03:04:05");
  await page.getByRole("button", { name: "Extend the task" }).click();
  await page.getByText("Extended until").waitFor();
  await page.getByLabel("About this task").getByText("2 Jan 2099, 03:04:05").waitFor();

  await visitor.act("Delete…", "Delete the task");
  await page.getByText("No tasks yet.").waitFor();
  visitor.expectFaults(/status of 404/);
  await page.goto(visitor.urlOf(`/tasks/${id}`));
  await page.getByRole("alert").waitFor();
});

it("shows Markdown, pictures and JSON as what they are, and pages and SVG not at all", patience, async () => {
  const { visitor } = await opened("study", "june");
  const { page } = visitor;
  await visitor.heading("study Completed").waitFor();
  expect(await page.getByRole("region", { name: "Result" }).innerText()).toContain('"of": "june"');
  const output = page.getByRole("log", { name: "Output" });
  await output.getByRole("heading", { name: "Findings", level: 3 }).waitFor();
  await output.getByRole("row", { name: "May 7" }).waitFor();
  await output.getByRole("button", { name: "Show source" }).click();
  await output.getByText("- **Sales** rose").waitFor();

  const files = page.getByRole("region", { name: "Files" });
  const viewed = (name: string): Promise<void> => files.getByRole("button", { name: `View ${name}` }).click();
  await viewed("report.md");
  const report = page.getByRole("region", { name: "File report.md" });
  await report.getByRole("heading", { name: "Next", level: 4 }).waitFor();
  await report.getByText(markup).waitFor();
  await report.getByRole("link", { name: "the plan" }).waitFor();
  expect(await page.locator("img, script:not([src]), [onerror]").count()).toBe(0);
  await viewed("figures.json");
  expect(await page.getByRole("region", { name: "File figures.json" }).innerText()).toContain(
    '"word": "june"',
  );
  await viewed("dot.png");
  const dot = page.getByRole("img", { name: "Image (image/png)" });
  await expect.poll(() => page.evaluate("document.querySelector('img').naturalWidth")).toBe(1);
  await page.getByRole("button", { name: "Close dot.png" }).click();
  await dot.waitFor({ state: "detached" });
  for (const name of ["drawing.svg", "page.html"]) {
    expect(await files.getByRole("button", { name: `View ${name}` }).count()).toBe(0);
    expect(await files.getByRole("button", { name: `Save ${name}` }).count()).toBe(1);
  }
});

it("shows where a handler threw", patience, async () => {
  const { visitor } = await opened("publish", "june");
  const { page } = visitor;
  await visitor.heading("publish Failed").waitFor();
  await visitor.row("Attempt 1 failed, then retried").waitFor();
  await visitor.row("Attempt 2 failed").waitFor();
  await page.getByText("Stack of attempt 2").click();
  const stack = await page.getByLabel("Stack of attempt 2").innerText();
  expect(stack).toMatch(/The mirror refused june\n +at refuse .*tools\.ts:\d+/);
  expect(stack).toContain("connection reset");
});

it("leads from a task to those that it called, and back", patience, async () => {
  const { site, id, visitor } = await opened("campaign", "june");
  const { page } = visitor;
  const called = page.getByRole("region", { name: "Unfinished tasks that it called" });
  await called.getByRole("link").click();
  await visitor.heading("report Running").waitFor();
  await page.getByRole("link", { name: id }).click();
  await visitor.heading("campaign").waitFor();
  site.openGate("june");
  await visitor.heading("campaign Completed").waitFor();
  await page.getByText("The campaign of june is over.").waitFor();
});
