import type { Route } from "playwright-core";
import { expect, it } from "vitest";
import { chromiumOfFile, patience } from "./chromium-of-file.ts";
import { Site } from "./site.ts";
import { Visitor } from "./visitor.ts";

const chromium = chromiumOfFile();

it("shows how tasks come, go on and end, without being loaded again", patience, async () => {
  const site = await Site.inNewFolder();
  const node = await site.serve();
  const visitor = await Visitor.open(chromium(), node.origin);
  const { page } = visitor;
  await page.getByText("No tasks yet.").waitFor();
  await page.getByRole("status").filter({ hasText: "Live" }).waitFor();
  await page.evaluate("window.isSame = true");

  const id = await node.start("report", "june");
  await visitor.row(id).filter({ hasText: "Running" }).waitFor();
  await visitor.row(id).filter({ hasText: "Half of june is written" }).waitFor();
  site.openGate("june");
  await visitor.row(id).filter({ hasText: "Completed" }).waitFor();
  await page.getByRole("button", { name: "Completed 1" }).waitFor();
  expect(await page.evaluate("window.isSame")).toBe(true);
});

it("says that its server is gone, and goes on with the next one at the same address", patience, async () => {
  const site = await Site.inNewFolder();
  const node = await site.serve();
  const visitor = await Visitor.open(chromium(), node.origin);
  const { page } = visitor;
  visitor.expectFaults(/net::ERR_/);
  visitor.expectFaults(/ 503 /); // it opens its store
  const id = await node.start("report", "june");
  await visitor.row(id).filter({ hasText: "Running" }).waitFor();
  await site.logged("(waits)", "june");
  await page.evaluate("window.isSame = true");

  await node.kill();
  await page.getByRole("status").filter({ hasText: "Connecting" }).waitFor();
  expect(await visitor.row(id).isVisible()).toBe(true);
  site.openGate("june");
  await site.serve(node.port);
  await page.getByRole("status").filter({ hasText: "Live" }).waitFor();
  await visitor.row(id).filter({ hasText: "Completed" }).waitFor();
  const next = await node.start("quick", "after");
  await visitor.row(next).filter({ hasText: "Completed" }).waitFor();
  expect(await page.evaluate("window.isSame")).toBe(true);
});

it("shows on the page of a task how those go on that it called", patience, async () => {
  const site = await Site.inNewFolder();
  const node = await site.serve();
  const id = await node.start("relay", "june");
  const visitor = await Visitor.open(chromium(), node.origin, { path: `/tasks/${id}` });
  const called = visitor.row("Running runner");
  await called.waitFor();
  await visitor.page.getByRole("status").filter({ hasText: "Live" }).waitFor();
  for (const place of ["Rome", "Oslo", "home"]) {
    site.openGate(`june to ${place}`);
    await called.filter({ hasText: `june is in ${place}` }).waitFor();
  }
  site.openGate("june ends");
  await visitor.heading("relay Completed").waitFor();
});

it("shows the same in seven windows, of which one reads for all, until it is closed", patience, async () => {
  const site = await Site.inNewFolder();
  const node = await site.serve();
  const first = await Visitor.open(chromium(), node.origin);
  const readers = new Set<unknown>();
  first.page.context().on("request", (request) => {
    if (request.url().endsWith("/api/changes")) readers.add(request.frame().page());
  });
  const others: Visitor[] = [];
  for (let n = 0; n < 6; n++) others.push(await first.another("/"));
  const all = [first, ...others];
  const show = async (windows: readonly Visitor[], word: string): Promise<void> => {
    for (const { page } of windows) await page.getByRole("status").filter({ hasText: "Live" }).waitFor();
    const id = await node.start("quick", word);
    for (const visitor of windows) await visitor.row(id).filter({ hasText: "Completed" }).waitFor();
  };
  await show(all, "one");
  expect([...readers].filter((page) => page !== first.page)).toEqual([]);
  await first.page.close();
  await show(others, "two");
  readers.delete(first.page);
  expect(readers.size).toBe(1);
});

it("asks a slow server less often", patience, async () => {
  const site = await Site.inNewFolder();
  const node = await site.serve();
  const visitor = await Visitor.open(chromium(), node.origin);
  const { page } = visitor;
  const asked: Route[] = [];
  await page.route("**/api/incidents*", (route) => void asked.push(route));
  await page.clock.install();
  await page.reload();
  await page.getByText("No tasks yet.").waitFor();
  await page.getByRole("status").filter({ hasText: "Live" }).waitFor();
  await expect.poll(() => asked.length).toBe(1);
  await page.clock.runFor(10_000);
  const answered = page.waitForResponse("**/api/incidents*");
  await asked[0]?.continue();
  await (await answered).finished();
  await page.clock.runFor(30_000);
  expect(asked).toHaveLength(1);
  await page.clock.runFor(15_000);
  await expect.poll(() => asked.length).toBe(2);
});
