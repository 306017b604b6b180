import { expect, it } from "vitest";
import { chromiumOfFile, patience } from "./chromium-of-file.ts";
import { Site } from "./site.ts";
import { Visitor } from "./visitor.ts";

const chromium = chromiumOfFile();

it("shows how a task goes on at another node when its own is killed", patience, async () => {
  const site = await Site.inNewFolder();
  const [own, other] = [await site.serve(), await site.serve()];
  const id = await own.start("report", "june");
  const visitor = await Visitor.open(chromium(), other.origin, { path: `/tasks/${id}` });
  const { page } = visitor;
  await visitor.row("Attempt 1 running").waitFor();
  await site.logged("(waits)", "june");

  const nodes = await visitor.another("/nodes");
  const rowOf = (pid: number | undefined) => nodes.row(`:${pid}`);
  await rowOf(own.pid).filter({ hasText: "Alive" }).waitFor();
  await rowOf(other.pid).filter({ hasText: "Alive" }).waitFor();
  await nodes.page.getByText("2 processes alive").waitFor();

  await own.kill();
  await visitor.row("Attempt 1 interrupted: its process is gone").waitFor();
  await visitor.row("Attempt 2 running").waitFor();
  await nodes.page.getByText("1 process alive").waitFor();
  await rowOf(own.pid).filter({ hasText: "Gone" }).waitFor();
  expect(await rowOf(other.pid).innerText()).toContain("Alive");

  site.openGate("june");
  await visitor.heading("report Completed").waitFor();
  await visitor.row("Attempt 2 completed").waitFor();
  await page.getByText("The report of june is ready.").waitFor();
  expect(site.stepsOf("june")).toEqual(["collect", "write"]);
});

it("lists the tasks that a node runs", patience, async () => {
  const site = await Site.inNewFolder();
  const [one, another] = [await site.serve(), await site.serve()];
  const [here, there] = [await one.start("report", "june"), await another.start("report", "july")];
  const visitor = await Visitor.open(chromium(), one.origin, { path: "/nodes" });
  await visitor.row(`:${one.pid}`).getByRole("link", { name: "1" }).click();
  await visitor.row(here).waitFor();
  expect(await visitor.listed()).toEqual([here]);
  await visitor.page.getByRole("combobox", { name: "Node" }).selectOption("");
  await visitor.row(there).waitFor();
});

it("drains a node, says when it is empty, and undoes it", patience, async () => {
  const site = await Site.inNewFolder();
  const [drained, other] = [await site.serve(), await site.serve()];
  const visitor = await Visitor.open(chromium(), other.origin, { path: "/nodes" });
  const row = visitor.row(`:${drained.pid}`);
  await row.getByRole("button", { name: /^Drain / }).click();
  await visitor.page.getByText("When it is empty, it can be stopped.").waitFor();
  await row.filter({ hasText: "Empty" }).waitFor();
  await row.getByRole("button", { name: / take work again$/ }).click();
  await row.filter({ hasText: "Alive" }).waitFor();
  await visitor.row(`:${other.pid}`).filter({ hasText: "Alive" }).waitFor();
});
