import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { kinds, somePlace, type Kind } from "../cli/admin/some-place.ts";
import { fullForm } from "../full-form.ts";
import { withClient } from "../postgres/with-client.ts";
import { chromiumOfFile, patience } from "./chromium-of-file.ts";
import { Site, type SiteNode } from "./site.ts";
import { Visitor } from "./visitor.ts";

const chromium = chromiumOfFile();

const gateway = "Payment gateway answered … for order …";
const causes = { gateway, card: "Card of order … has expired", stock: "Nothing is left of order …" };
/** Tasks of each cause. */
const each = fullForm ? 8_334 : 40;
/** Calls at a time. */
const atOnce = 50;

/** Ids as many programs make them: some have letters alone. */
const orderId = (n: number): string =>
  n % 2 === 0 ? randomUUID() : `${n}${Math.random().toString(36).slice(2, 10)}`;

/** Makes tasks that fail, one cause after the other; gives the orders of the first one. */
async function failing(node: SiteNode): Promise<readonly string[]> {
  const ofCauses = Object.keys(causes).map((cause) => {
    return { cause, ids: Array.from({ length: each }, (_, n) => orderId(n)) };
  });
  for (const { cause, ids } of ofCauses)
    for (let from = 0; from < each; from += atOnce)
      await Promise.all(
        ids
          .slice(from, from + atOnce)
          .map((id, n) => node.start("charge", `${cause} ${id}`, `caller-${n % 3}`)),
      );
  return ofCauses[0]?.ids ?? [];
}

type Count = (sql: string) => Promise<number>;

/** A site, and what its database itself has. */
async function siteOn(kind: Kind): Promise<{ readonly site: Site; readonly numberIn: Count }> {
  const { url } = await somePlace(kind);
  const site = await Site.inNewFolder(url);
  const numberIn: Count = async (sql) => {
    if (kind === "Postgres")
      return withClient(url, async (client) => {
        await client.query(`set search_path to ${new URL(url).searchParams.get("schema")}`);
        const { rows } = await client.query<{ n: string }>(sql);
        return Number(rows[0]?.n);
      });
    const db = new DatabaseSync(url.slice("sqlite:".length), { readOnly: true, timeout: 20_000 });
    const row = db.prepare(sql).get();
    db.close();
    return Number(row?.["n"]);
  };
  return { site, numberIn };
}

const done = "SELECT count(*) AS n FROM bulk_task WHERE ended_as = 'done'";
const jobs = "SELECT count(*) AS n FROM bulk_job WHERE ended_at IS NOT NULL";
const charged = "SELECT count(*) AS n FROM task WHERE tool = 'charge' AND outcome_kind = 'result'";
const failed = "SELECT count(*) AS n FROM task WHERE cause IS NOT NULL";

/** What a payment service was asked for each order: one that knows idempotency keys does once what comes with the same key. */
function askedFor(site: Site): ReadonlyMap<string, readonly string[]> {
  const asked = new Map<string, string[]>();
  for (const line of readFileSync(join(site.folder, "log"), "utf8").trimEnd().split("\n")) {
    const end = line.lastIndexOf(" ");
    const [order, request] = [line.slice(end + 1), line.slice(0, end)];
    asked.set(order, [...(asked.get(order) ?? []), request]);
  }
  return asked;
}

it.each(fullForm ? kinds : (["SQLite"] as const))(
  "shows failures as the causes that they have, and one click fixes one of them while its server is killed twice, on %s",
  { timeout: fullForm ? 1_800_000 : patience.timeout },
  async (kind) => {
    const { site, numberIn } = await siteOn(kind);
    let node = await site.serve();
    const orders = await failing(node);
    await expect.poll(() => numberIn(failed), { timeout: fullForm ? 600_000 : 60_000 }).toBe(3 * each);
    const visitor = await Visitor.open(chromium(), node.origin);
    const { page } = visitor;
    const card = (name: string) => page.getByRole("article", { name });
    for (const name of Object.values(causes)) await card(name).waitFor();
    expect(await page.getByRole("article").count()).toBe(3);
    await card(gateway)
      .getByText(`${each.toLocaleString("en-GB")} tasks of 3 callers`)
      .waitFor();
    // A colleague's window, which will not hear of the repair.
    const late = await visitor.another("/");
    const again = { name: `Run all again: ${gateway}` };
    await late.page.getByRole("button", again).waitFor();
    await late.page.route(/\/api\/incidents/, () => undefined);
    for (const { expectFaults } of [visitor, late].map((of) => ({
      expectFaults: of.expectFaults.bind(of),
    }))) {
      expectFaults(/net::ERR_/);
      expectFaults(/ 503 /); // while it starts
    }
    // Fixed. Its server is killed twice while the tasks of this cause run again.
    site.openGate("fixed gateway");
    await page.getByRole("button", again).click();
    for (const least of [1, Math.floor(each / 2)]) {
      await expect
        .poll(() => numberIn(done), { timeout: 300_000, interval: 5 })
        .toBeGreaterThanOrEqual(least);
      expect(await numberIn(jobs)).toBe(0);
      await node.kill();
      node = await site.serve(node.port);
    }
    await expect.poll(() => numberIn(jobs), { timeout: 600_000 }).toBe(1);
    await expect.poll(() => numberIn(charged), { timeout: 600_000 }).toBe(each);
    expect(await numberIn(done)).toBe(each);
    // What had succeeded was not repeated, and all that was asked for an order had one key.
    const asked = askedFor(site);
    for (const order of orders) {
      const [reserve, ...charges] = asked.get(order) ?? [];
      const [key = "none"] = (charges[0] ?? "").split(" ").slice(1);
      expect([reserve, ...new Set(charges)]).toEqual(["reserve", `refused ${key}`, `charged ${key}`]);
    }
    // A second click finds nothing, and the other causes are as they were.
    await late.page.getByRole("button", again).click();
    await late.page.getByText("0 tasks run again.").waitFor();
    expect(await numberIn(charged)).toBe(each);
    await page.goto(visitor.urlOf("/"));
    for (const name of [causes.card, causes.stock]) await card(name).waitFor();
    expect(await page.getByRole("article").count()).toBe(2);
    await page.getByRole("link", { name: causes.card }).click();
    await page.getByText("Tasks that failed with one cause").waitFor();
    expect(await numberIn(failed)).toBe(3 * each);
  },
);

it("names a step that is stuck, and since when, within 15 seconds", patience, async () => {
  const site = await Site.inNewFolder();
  const node = await site.serve();
  const id = await node.start("transfer", "june");
  await site.logged("(waits)", "june");
  const visitor = await Visitor.open(chromium(), node.origin, { path: `/tasks/${id}` });
  const named = visitor.page.getByRole("row", { name: /^step reach the bank running .*\d m?s…$/ });
  await named.waitFor({ timeout: fullForm ? 15_000 : 60_000 }); // processes report every ten seconds
});

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
  // Below several incidents, too, the list begins in it.
  const refused = await node.start("publish", "june");
  await page.goto(visitor.urlOf("/"));
  await page.getByRole("article").nth(1).waitFor();
  const newest = await visitor.row(refused).filter({ hasText: "The mirror refused june" }).boundingBox();
  expect((newest?.y ?? Infinity) + (newest?.height ?? 0)).toBeLessThan(800);
  const reader = await Visitor.open(chromium(), node.origin, { as: "read" });
  await reader.page.getByRole("article", { name: causes.card }).waitFor();
  expect(await reader.page.getByRole("article").getByRole("button").count()).toBe(0);
});
