import { DatabaseSync } from "node:sqlite";
import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { fullForm } from "../full-form.ts";
import { chromiumOfFile, patience } from "./chromium-of-file.ts";
import { copyTasks } from "./copy-tasks.ts";
import { Site, type SiteNode } from "./site.ts";
import { Visitor } from "./visitor.ts";

const chromium = chromiumOfFile();

const gateway = "Payment gateway answered … for order …";
const causes = { gateway, card: "Card of order … has expired", stock: "Nothing is left of order …" };
/** Tasks of each cause that are really made; the full form copies them. */
const made = fullForm ? 100 : 40;
const copied = fullForm ? 25_000 : 0;

/** Ids as many programs make them: some have letters alone. */
const orderId = (n: number): string =>
  n % 2 === 0 ? randomUUID() : `${n}${Math.random().toString(36).slice(2, 10)}`;

/** Makes tasks that fail for each cause; gives their orders, by cause. */
async function failing(node: SiteNode): Promise<ReadonlyMap<string, readonly string[]>> {
  const orders = new Map<string, readonly string[]>();
  for (const cause of Object.keys(causes)) {
    const ids = Array.from({ length: made }, (_, n) => orderId(n));
    orders.set(cause, ids);
    await Promise.all(ids.map((id, n) => node.start("charge", `${cause} ${id}`, `caller-${n % 3}`)));
  }
  return orders;
}

/** What the database itself has. */
function numberIn(site: Site, sql: string): number {
  const db = new DatabaseSync(site.database, { readOnly: true, timeout: 20_000 });
  const row = db.prepare(sql).get();
  db.close();
  return Number(row?.["n"]);
}

const done = "SELECT count(*) AS n FROM bulk_task WHERE ended_as = 'done'";
const jobs = "SELECT count(*) AS n FROM bulk_job WHERE ended_at IS NOT NULL";
const charged = "SELECT count(*) AS n FROM task WHERE tool = 'charge' AND outcome_kind = 'result'";
const failed = "SELECT count(*) AS n FROM task WHERE cause IS NOT NULL";

it(
  "shows failures as the causes that they have, and one click mends one of them while its server is killed twice",
  { timeout: fullForm ? 900_000 : patience.timeout },
  async () => {
    const site = await Site.inNewFolder();
    let node = await site.serve();
    const orders = await failing(node);
    await expect.poll(() => numberIn(site, failed), { timeout: 60_000 }).toBe(3 * made);
    if (copied > 0) {
      await node.kill();
      copyTasks(site.database, copied);
      node = await site.serve(node.port);
    }
    const each = numberIn(
      site,
      `${failed} AND cause = (SELECT cause FROM task WHERE cause IS NOT NULL LIMIT 1)`,
    );
    const visitor = await Visitor.open(chromium(), node.origin);
    const { page } = visitor;
    const card = (name: string) => page.getByRole("article", { name });
    for (const name of Object.values(causes)) await card(name).waitFor();
    expect(await page.getByRole("article").count()).toBe(3);
    if (copied === 0) await card(gateway).getByText(`${made} tasks of 3 callers`).waitFor();
    // Fixed. Its server is killed twice while the tasks of this cause run again.
    site.openGate("fixed gateway");
    await page.getByRole("button", { name: `Run all again: ${gateway}` }).click();
    visitor.expectFaults(/net::ERR_/);
    visitor.expectFaults(/ 503 /); // while it starts
    for (const least of [1, Math.floor(each / 2)]) {
      await expect
        .poll(() => numberIn(site, done), { timeout: 300_000, interval: 5 })
        .toBeGreaterThanOrEqual(least);
      await node.kill();
      node = await site.serve(node.port);
    }
    await expect.poll(() => numberIn(site, jobs), { timeout: 600_000 }).toBe(1);
    await expect.poll(() => numberIn(site, charged), { timeout: 600_000 }).toBe(each);
    expect(numberIn(site, done)).toBe(each);
    if (copied === 0)
      for (const order of orders.get("gateway") ?? []) expect(site.eventsOf(order)).toEqual(["reserve"]);
    // The others are as they were, and a second click finds nothing.
    await page.goto(visitor.urlOf("/"));
    for (const name of [causes.card, causes.stock]) await card(name).waitFor();
    expect(await page.getByRole("article").count()).toBe(2);
    await page.getByRole("link", { name: causes.card }).click();
    await page.getByText("Tasks that failed with one cause").waitFor();
    expect(numberIn(site, failed)).toBe(3 * each);
  },
);

it("mutes a cause, keeps a note on it, and pauses its tool", patience, async () => {
  const site = await Site.inNewFolder();
  const node = await site.serve();
  await node.start("charge", "card 4711");
  const visitor = await Visitor.open(chromium(), node.origin, { width: 390 });
  const { page } = visitor;
  const card = page.getByRole("article", { name: causes.card });
  await card.getByText("1 task of 1 caller").waitFor();
  await card.getByRole("button", { name: "Note: " }).click();
  await page.getByRole("textbox", { name: "Note" }).fill("The bank knows. <b>Wait</b>.");
  await page.getByRole("button", { name: "Save the note" }).click();
  await card.getByText("The bank knows. <b>Wait</b>.").waitFor();
  await card.getByRole("button", { name: "Pause charge" }).click();
  // No task changes by this, so nothing else makes the page look again.
  await card.getByRole("button", { name: "Resume charge" }).click();
  await card.getByRole("button", { name: "Pause charge" }).click();
  await card.getByRole("button", { name: "Resume charge" }).waitFor();
  await card.getByRole("button", { name: "Mute: " }).click();
  await page.getByText("1 muted").click();
  await card.getByRole("button", { name: "Unmute: " }).click();
  await card.getByRole("button", { name: "Mute: " }).waitFor();
  // In such a window, a task shows its state, tool, time and message without being moved.
  await page.goto(visitor.urlOf("/?state=failed"));
  const row = visitor.row("charge");
  await row.getByText("Card of order 4711 has expired").waitFor();
  const { y = 0, width = 0, height = 0 } = (await row.boundingBox()) ?? {};
  expect(width).toBeLessThan(390);
  expect(y + height).toBeLessThan(800);
  const reader = await Visitor.open(chromium(), node.origin, { as: "read" });
  await reader.page.getByRole("article", { name: causes.card }).waitFor();
  expect(await reader.page.getByRole("article").getByRole("button").count()).toBe(0);
});
