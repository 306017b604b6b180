import { expect, it } from "vitest";
import { chromiumOfFile, patience } from "./chromium-of-file.ts";
import { Site, type SiteNode } from "./site.ts";
import { Visitor } from "./visitor.ts";

const chromium = chromiumOfFile();

async function opened(): Promise<{ site: Site; node: SiteNode; visitor: Visitor }> {
  const site = await Site.inNewFolder();
  const node = await site.serve();
  return { site, node, visitor: await Visitor.open(chromium(), node.origin) };
}

it("keeps what is looked for in its address, from which it is shown again", patience, async () => {
  const { node, visitor } = await opened();
  const { page } = visitor;
  const [refused, quick, asked] = [
    await node.start("publish", "one", "erin"),
    await node.start("quick", "two", "frank"),
    await node.start("deploy", "three", "frank"),
  ];
  const listed = async (...ids: string[]): Promise<void> => {
    await expect.poll(() => visitor.listed()).toEqual(ids);
  };
  await listed(asked, quick, refused);

  await page.getByRole("button", { name: "Failed 1" }).click();
  await listed(refused);
  expect(visitor.path).toBe("/?state=failed");
  await page.getByRole("button", { name: "Needs input 1" }).click();
  await listed(asked, refused);
  await page.getByLabel("Caller").fill("frank");
  await listed(asked);
  expect(visitor.path).toBe("/?state=input_required&state=failed&principal=frank");

  await page.reload();
  await listed(asked);
  expect(await page.getByLabel("Caller").inputValue()).toBe("frank");
  expect(await page.getByRole("button", { name: "Failed 1" }).getAttribute("aria-pressed")).toBe("true");
  await page.goBack();
  await listed(asked, refused);
  await page.goBack();
  await listed(refused);
  await page.goBack();
  await listed(asked, quick, refused);

  await page.getByRole("combobox", { name: "Tool" }).selectOption("quick");
  await listed(quick);
  await page.getByRole("combobox", { name: "Created" }).selectOption("1h");
  await listed(quick);
  expect(visitor.path).toBe("/?tool=quick&age=1h");
  await page.getByLabel("Status text").fill("is nowhere");
  await page.getByText("No tasks match.").waitFor();
  await page.getByRole("link", { name: "Clear filters" }).click();
  await listed(asked, quick, refused);
  expect(visitor.path).toBe("/");
});

it("keeps what is typed into one field while another one is filled in", patience, async () => {
  const { visitor } = await opened();
  const { page } = visitor;
  await page.getByText("No tasks yet.").waitFor();
  expect(await page.locator("table.tasks").count()).toBe(0); // whose frame would be a line
  await page.getByLabel("Caller").fill("frank");
  await page.getByLabel("Status text").fill("half");
  await page.getByRole("combobox", { name: "Created" }).selectOption("1h");
  await expect.poll(() => visitor.path).toBe("/?principal=frank&age=1h&text=half");
  expect(await page.getByLabel("Caller").inputValue()).toBe("frank");
});

it("shows fifty tasks at a time, and goes back to the one that was opened", patience, async () => {
  const { node, visitor } = await opened();
  const { page } = visitor;
  const ids: string[] = [];
  for (let n = 0; n < 53; n++) ids.unshift(await node.start("quick", `number ${n}`));
  await expect.poll(() => visitor.listed()).toEqual(ids.slice(0, 50));
  await page.getByRole("link", { name: "Older" }).click();
  await expect.poll(() => visitor.listed()).toEqual(ids.slice(50));
  await page.getByRole("link", { name: "Newest" }).click();
  await expect.poll(() => visitor.listed()).toEqual(ids.slice(0, 50));

  const fortieth = page.getByRole("link", { name: ids[40] ?? "" });
  const placeOf = async (): Promise<number> => (await fortieth.boundingBox())?.y ?? NaN;
  await fortieth.scrollIntoViewIfNeeded();
  const top = await placeOf();
  await fortieth.click();
  await visitor.heading("quick").waitFor();
  expect(await page.evaluate("scrollY")).toBe(0);
  await page.goBack();
  await expect.poll(() => page.evaluate("document.activeElement.textContent")).toBe(ids[40]);
  await expect.poll(placeOf).toBeCloseTo(top, -1);
  await page.reload();
  await expect.poll(placeOf).toBeCloseTo(top, -1);

  await page.evaluate(`document.querySelector('a[href$="${ids[40]}"]').scrollIntoView({ block: "end" })`);
  await fortieth.click();
  await visitor.heading("quick").waitFor();
  for (let n = 0; n < 5; n++) await node.start("quick", `later ${n}`);
  await page.goBack();
  await expect.poll(() => page.evaluate("document.activeElement.textContent")).toBe(ids[40]);
  await expect.poll(placeOf).toBeLessThan(800);
  expect(await placeOf()).toBeGreaterThan(700);
});

it("goes by keys from task to task, into one, and to the search", patience, async () => {
  const { node, visitor } = await opened();
  const { page } = visitor;
  const [first, second] = [await node.start("quick", "one"), await node.start("quick", "two")];
  await expect.poll(() => visitor.listed()).toEqual([second, first]);
  const focused = () => page.evaluate<string>("document.activeElement.textContent");
  await page.keyboard.press("j");
  expect(await focused()).toBe(second);
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  expect(await focused()).toBe(first);
  await page.keyboard.press("k");
  expect(await focused()).toBe(second);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "quick" }).waitFor();
  expect(await page.evaluate("document.activeElement.id")).toBe("main");
  expect(visitor.path).toBe(`/tasks/${second}`);
  await page.goBack();
  await visitor.row(first).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("jk");
  expect(await page.getByLabel("Status text").inputValue()).toBe("jk");
});

it("says which tasks it could not change, and why", patience, async () => {
  const { node, visitor } = await opened();
  const { page } = visitor;
  const [done, refused] = [await node.start("quick", "one"), await node.start("quick", "two")];
  await visitor.row(refused).filter({ hasText: "Completed" }).waitFor();
  await page.getByRole("button", { name: "Bulk action…" }).click();
  const dialog = page.getByRole("dialog", { name: "Bulk action" });
  await dialog.getByText("No filter is set, so this applies to all tasks.").waitFor();
  await dialog.getByLabel("Delete").check();
  await dialog.getByRole("button", { name: "Preview" }).click();
  await dialog.getByText("2 tasks would be deleted.").waitFor();
  await page.route("**/api/bulk/*", async (route) => {
    const response = await route.fetch();
    const job = (await response.json()) as object;
    const why = { id: refused, code: "unknown_task", message: "It was deleted elsewhere." };
    const counts = { total: 2, open: 0, done: 1, refused: 1 };
    return route.fulfill({ response, json: { ...job, counts, done: [done], refused: [why] } });
  });
  await dialog.getByRole("button", { name: "Delete 2" }).click();
  await dialog.getByText("1 task deleted. 1 task could not be deleted:").waitFor();
  await dialog.getByText(`${refused}: It was deleted elsewhere.`).waitFor();
  await dialog.getByRole("button", { name: "Close" }).click();
  await dialog.waitFor({ state: "detached" });
});

it(
  "does something to all that the filter selects, once it has shown what that would change",
  patience,
  async () => {
    const { site, node, visitor } = await opened();
    const { page } = visitor;
    const reports = [await node.start("report", "june"), await node.start("report", "july")];
    const asked = await node.start("deploy", "site");
    for (const word of ["june", "july"]) await site.logged("(waits)", word);
    await visitor.row(asked).filter({ hasText: "Needs input" }).waitFor();
    await page.getByRole("combobox", { name: "Tool" }).selectOption("report");
    await visitor.row(asked).waitFor({ state: "detached" });

    await page.getByRole("button", { name: "Bulk action…" }).click();
    const dialog = page.getByRole("dialog", { name: "Bulk action" });
    await dialog.getByLabel("Delete").check();
    await dialog.getByRole("button", { name: "Preview" }).click();
    await dialog.getByText("0 tasks would be deleted.").waitFor();
    await dialog.getByLabel("Cancel").check();
    await dialog.getByRole("button", { name: "Preview" }).click();
    await dialog.getByText("2 tasks would be cancelled.").waitFor();
    await dialog.getByText("Show these tasks").click();
    expect(await dialog.getByRole("link").allInnerTexts()).toEqual([...reports].reverse());
    for (const id of reports) expect(await visitor.row(id).innerText()).toContain("Running");
    await dialog.getByRole("button", { name: "Cancel 2" }).click();
    await page.getByText("2 tasks cancelled.").waitFor();
    for (const id of reports) await visitor.row(id).filter({ hasText: "Cancelled" }).waitFor();
    await page.getByRole("combobox", { name: "Tool" }).selectOption("");
    await visitor.row(asked).filter({ hasText: "Needs input" }).waitFor();
  },
);
