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
  await page.getByText("No task is like that.").waitFor();
  await page.getByRole("link", { name: "Show all" }).click();
  await listed(asked, quick, refused);
  expect(visitor.path).toBe("/");
});

it("shows fifty tasks at a time", patience, async () => {
  const { node, visitor } = await opened();
  const { page } = visitor;
  const ids: string[] = [];
  for (let n = 0; n < 53; n++) ids.unshift(await node.start("quick", `number ${n}`));
  await expect.poll(() => visitor.listed()).toEqual(ids.slice(0, 50));
  await page.getByRole("link", { name: "Older" }).click();
  await expect.poll(() => visitor.listed()).toEqual(ids.slice(50));
  await page.getByRole("link", { name: "Newest" }).click();
  await expect.poll(() => visitor.listed()).toEqual(ids.slice(0, 50));
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
  expect(visitor.path).toBe(`/tasks/${second}`);
  await page.goBack();
  await visitor.row(first).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("jk");
  expect(await page.getByLabel("Status text").inputValue()).toBe("jk");
});

it("does something to all that are listed, once it has shown what that would change", patience, async () => {
  const { site, node, visitor } = await opened();
  const { page } = visitor;
  const reports = [await node.start("report", "june"), await node.start("report", "july")];
  const asked = await node.start("deploy", "site");
  for (const word of ["june", "july"]) await site.logged("(waits)", word);
  await visitor.row(asked).filter({ hasText: "Needs input" }).waitFor();
  await page.getByRole("combobox", { name: "Tool" }).selectOption("report");
  await visitor.row(asked).waitFor({ state: "detached" });

  await page.getByRole("button", { name: "Change all that are listed…" }).click();
  const dialog = page.getByRole("dialog", { name: "Change all tasks that are listed" });
  await dialog.getByLabel("Delete").check();
  await dialog.getByRole("button", { name: "Show what would change" }).click();
  await dialog.getByText("0 tasks would be deleted.").waitFor();
  await dialog.getByLabel("Cancel").check();
  await dialog.getByRole("button", { name: "Show what would change" }).click();
  await dialog.getByText("2 tasks would be cancelled.").waitFor();
  for (const id of reports) expect(await visitor.row(id).innerText()).toContain("Running");
  await dialog.getByRole("button", { name: "Cancel 2" }).click();
  await page.getByText("2 tasks cancelled.").waitFor();
  for (const id of reports) await visitor.row(id).filter({ hasText: "Cancelled" }).waitFor();
  await page.getByRole("combobox", { name: "Tool" }).selectOption("");
  await visitor.row(asked).filter({ hasText: "Needs input" }).waitFor();
});
