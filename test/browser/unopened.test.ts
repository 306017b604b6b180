import { expect, it } from "vitest";
import { chromiumOfFile, patience } from "./chromium-of-file.ts";
import { Site } from "./site.ts";
import { Visitor } from "./visitor.ts";

const chromium = chromiumOfFile();

it("says why it could not be loaded, and at which address there is nothing", patience, async () => {
  const site = await Site.inNewFolder();
  const { origin } = await site.serve();
  const visitor = await Visitor.open(chromium(), origin, { path: "/tasks/%E0%A4%A" });
  const { page } = visitor;
  await visitor.heading("Page not found").waitFor();

  visitor.expectFaults(/ 502 /);
  await page.route("**/session", (route) => route.fulfill({ status: 502, body: "Bad Gateway" }));
  await page.reload();
  await page.getByRole("alert").filter({ hasText: "The server answered HTTP 502." }).waitFor();
  await page.unroute("**/session");
  await page.getByRole("button", { name: "Try again" }).click();
  await visitor.heading("Page not found").waitFor();
  expect(visitor.path).toBe("/tasks/%E0%A4%A");
});
