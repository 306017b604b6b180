import { expect, it } from "vitest";
import { chromiumOfFile, patience } from "./chromium-of-file.ts";
import { Site } from "./site.ts";
import { Visitor } from "./visitor.ts";

const chromium = chromiumOfFile();

it("shows what becomes of the tasks of each tool, why they fail, and pauses it", patience, async () => {
  const site = await Site.inNewFolder();
  const node = await site.serve();
  await node.start("quick", "one");
  const failed: string[] = [];
  for (const word of ["june 1", "june 2"]) failed.push(await node.start("publish", word));
  const visitor = await Visitor.open(chromium(), node.origin, { path: "/tools" });
  const { page } = visitor;
  const publish = page.getByRole("row").filter({ has: page.getByRole("link", { name: "publish" }) });
  await publish.filter({ hasText: "2 (100%)" }).waitFor();

  const callers = page.getByRole("region", { name: "Top callers" });
  await callers.getByRole("row", { name: "erin 2 3" }).waitFor();
  await callers.getByRole("button", { name: "Most time" }).click();
  await callers.getByRole("row", { name: "erin 2 3" }).waitFor();

  await page.getByRole("link", { name: "Tasks", exact: true }).click();
  const charts = page.getByRole("region", { name: "The last hour" });
  for (const text of ["3 created in the last hour", "3 ended", "2 failed"])
    await charts.getByText(text, { exact: true }).waitFor();
  await page.goBack();

  await publish.getByRole("link", { name: "publish" }).click();
  await visitor.heading("Tool publish").waitFor();
  const why = visitor.row("The mirror refused june").filter({ hasText: "2" });
  await why.waitFor();
  await why.getByRole("link").click();
  await visitor.heading("publish Failed").waitFor();
  expect(visitor.path).toBe(`/tasks/${failed[1]}`);
  await page.goBack();

  await page.getByRole("button", { name: "Pause publish" }).click();
  await visitor.row("Paused by ann").waitFor();
  // Processes learn of it within about a second.
  let held = "";
  const queued = page.getByRole("link", { name: /^\d+ queued$/ });
  const isHeld = async (): Promise<boolean> => {
    held = await node.start("publish", "july");
    return queued.isVisible();
  };
  await expect.poll(isHeld, { interval: 500 }).toBe(true);
  await queued.click();
  await visitor.row(held).filter({ hasText: "Queued" }).waitFor();
  await page.goBack();
  await page.getByRole("button", { name: "Resume publish" }).click();
  await page.getByText("Resumed publish.").waitFor();
  await page.goto(visitor.urlOf(`/tasks/${held}`));
  await visitor.heading("publish Failed").waitFor();

  await node.start("charge", "card 17");
  await page.goto(visitor.urlOf("/tools?tool=charge"));
  await visitor.row("reserve Step 1").waitFor();

  await page.getByRole("link", { name: "Actions" }).click();
  await visitor.row("Resumed").waitFor();
  await visitor.row("Paused").waitFor();
});

it("shows what was refused, to whom it may not concern and what does not exist", patience, async () => {
  const site = await Site.inNewFolder();
  const node = await site.serve();
  await expect(node.start("quick", "one", "stranger")).rejects.toThrow();
  await expect(node.get("no-such-task", "erin")).rejects.toThrow();
  const visitor = await Visitor.open(chromium(), node.origin, { path: "/refusals" });
  await visitor.row("unauthorized server/discover").waitFor();
  await visitor.row("unknown_task").filter({ hasText: "tasks/get" }).waitFor();
});
