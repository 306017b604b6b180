import { expect, it } from "vitest";
import { chromiumOfFile } from "./chromium-of-file.ts";
import { copyTasks } from "./copy-tasks.ts";
import { Site } from "./site.ts";
import { Visitor } from "./visitor.ts";

const chromium = chromiumOfFile();

/** 1,000,000 by hand, which takes a quiet machine and some minutes: HOLDFAST_BROWSER_TASKS=1000000, and --silent=false to read how long each list took. */
const count = Number(process.env["HOLDFAST_BROWSER_TASKS"] ?? 20_000);

it(`finds tasks among ${count.toLocaleString()}`, { timeout: 900_000 }, async () => {
  const site = await Site.inNewFolder();
  const first = await site.serve();
  const ids = new Map<string, string>();
  for (const tool of ["quick", "publish", "markup"]) ids.set(tool, await first.start(tool, "ends"));
  const early = await Visitor.open(chromium(), first.origin);
  await early
    .row(ids.get("publish") ?? "")
    .filter({ hasText: "Failed" })
    .waitFor();
  await early
    .row(ids.get("markup") ?? "")
    .filter({ hasText: "Completed" })
    .waitFor();
  early.expectFaults(/net::ERR_/);
  await first.kill();
  copyTasks(site.database, count);

  const node = await site.serve();
  const visitor = await Visitor.open(chromium(), node.origin);
  const { page } = visitor;
  const rows = page.locator("a.task");
  const took: string[] = [];
  const finds = async (name: string, path: string, number = 50): Promise<void> => {
    // As a click on a filter does it, without a new page.
    const answer = page.waitForResponse((response) => response.url().includes("/api/tasks?"));
    const began = performance.now();
    await page.evaluate(
      `history.pushState(null, "", ${JSON.stringify(`/holdfast${path}`)}); dispatchEvent(new PopStateEvent("popstate"))`,
    );
    const { tasks } = (await (await answer).json()) as { tasks: readonly { id: string }[] };
    expect(tasks).toHaveLength(number);
    if (number === 0) await page.getByText("No tasks match.").waitFor();
    await expect.poll(() => rows.allInnerTexts(), { interval: 5 }).toEqual(tasks.map(({ id }) => id));
    took.push(`${name}: ${Math.round(performance.now() - began)} ms`);
  };
  await finds("all", "/?age=7d");
  await finds("failed", "/?state=failed");
  await finds("completed", "/?state=completed");
  await finds("tool", "/?tool=publish");
  await finds("tool and state", "/?tool=publish&state=failed");
  await finds("tool and no such state", "/?tool=quick&state=failed", 0);
  await finds("caller", "/?principal=caller-17");
  await finds("caller and tool", "/?principal=caller-17&tool=quick");
  await finds("running", "/?state=running", 0);
  if (count > 100_000) console.info(took.join("\n"));

  await page.goto(visitor.urlOf("/"));
  await expect.poll(() => rows.count()).toBe(50);
  await page.getByRole("button", { name: /^Failed [\d,]+/ }).click();
  await page.getByRole("link", { name: "Older" }).click();
  await expect.poll(() => visitor.path).toContain("after=");
  await expect.poll(() => rows.count()).toBe(50);
});
