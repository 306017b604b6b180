import { expect, it } from "vitest";
import { chromiumOfFile, patience } from "./chromium-of-file.ts";
import { markup } from "./markup.ts";
import { Site } from "./site.ts";
import { Visitor } from "./visitor.ts";

const chromium = chromiumOfFile();

/** What is in the page that came from nobody but a text. The page has none of these of its own. */
const strange =
  "img, iframe, object, embed, base, form[action], [onerror], [onfocus], script:not([src]), a[href^='javascript:']";

it("shows texts of tools and callers as text, whatever they would be as markup", patience, async () => {
  const site = await Site.inNewFolder();
  const node = await site.serve();
  const ids = new Map<string, string>();
  for (const word of ["ends", "asks", "fails"]) ids.set(word, await node.start("markup", word, markup));
  const visitor = await Visitor.open(chromium(), node.origin);
  const { page } = visitor;
  const isText = async (least: number): Promise<void> => {
    await expect.poll(() => page.getByText(markup).count()).toBeGreaterThanOrEqual(least);
    expect(await page.locator(strange).count()).toBe(0);
  };

  for (const id of ids.values()) await visitor.row(id).waitFor();
  await isText(3);
  // The status text of the task that failed has the markup alone.
  const filter = { principal: markup, text: `${markup} nowhere`, node: markup, tool: markup };
  await page.goto(visitor.urlOf(`/?${new URLSearchParams(filter).toString()}`));
  await page.getByText("No tasks match.").waitFor();
  expect(await page.getByLabel("Caller").inputValue()).toBe(markup);

  await page.goto(visitor.urlOf(`/tasks/${ids.get("ends")}`));
  await visitor.heading("markup Completed").waitFor();
  await isText(4); // its status text ended with it
  await page.goto(visitor.urlOf(`/tasks/${ids.get("fails")}`));
  await visitor.heading("markup Failed").waitFor();
  await page.getByText("Stack of attempt 1").click();
  await isText(4);

  await page.goto(visitor.urlOf(`/tasks/${ids.get("asks")}`));
  await visitor.heading("markup Needs input").waitFor();
  await isText(6);
  const form = page.getByRole("form");
  for (const field of await form.getByRole("textbox").all()) await field.fill(markup);
  await form.getByRole("button", { name: "Accept" }).click();
  await visitor.heading("markup Completed").waitFor();

  await page.goto(visitor.urlOf("/tools?tool=markup"));
  await page.getByRole("heading", { name: "Failures by cause" }).waitFor();
  await visitor.row("<img src=x onerror=…></script>").waitFor(); // without what is quoted
  expect(await page.locator(strange).count()).toBe(0);
  await page.goto(visitor.urlOf("/actions"));
  await visitor.row("Answered a task").getByText("Details").click();
  expect(await page.locator(strange).count()).toBe(0);
  for (const path of [`/tasks/${encodeURIComponent(markup)}`, `/tools?tool=${encodeURIComponent(markup)}`]) {
    visitor.expectFaults(/status of 404/);
    await page.goto(visitor.urlOf(path));
    await page.getByRole("heading", { level: 1 }).waitFor();
    expect(await page.locator(strange).count()).toBe(0);
  }
});
