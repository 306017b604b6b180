import { expect, it } from "vitest";
import { chromiumOfFile, patience } from "./chromium-of-file.ts";
import { tokens } from "./operators.ts";
import { Site } from "./site.ts";
import { Visitor } from "./visitor.ts";

const chromium = chromiumOfFile();

it("shows strangers the login page alone, and logs in who knows a token", patience, async () => {
  const site = await Site.inNewFolder();
  const { origin } = await site.serve();
  const visitor = await Visitor.open(chromium(), origin, { as: "nobody", path: "/tools" });
  const { page } = visitor;
  expect(await page.locator("script, [rel=stylesheet]").count()).toBe(0);
  for (const place of ["/app.js", "/app.css", "/session", "/api/tasks"]) {
    const answer = await page.request.get(visitor.urlOf(place));
    expect([place, answer.status()]).toEqual([place, 401]);
  }
  await visitor.logIn("a guess");
  await page.getByRole("alert").waitFor();
  expect(await page.getByRole("alert").textContent()).toBe("This token is not valid.");

  await visitor.logIn(tokens.write);
  await page.getByRole("heading", { name: "Tools" }).waitFor();
  expect(visitor.path).toBe("/tools");
  expect(await page.getByText("ann", { exact: true }).isVisible()).toBe(true);
  expect(await page.evaluate("document.cookie")).toBe("");

  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByLabel("Operator token").waitFor();
  await page.goto(visitor.urlOf("/"));
  await page.getByLabel("Operator token").waitFor();
});

it("goes on where a link led that was followed before the login", patience, async () => {
  const site = await Site.inNewFolder();
  const node = await site.serve();
  const id = await node.start("quick", "linked");
  const visitor = await Visitor.open(chromium(), node.origin, { path: `/tasks/${id}` });
  await visitor.page.getByRole("heading", { name: "quick" }).waitFor();
  expect(visitor.path).toBe(`/tasks/${id}`);
});

it("acts and logs out in a tab that was there before another one logged in", patience, async () => {
  const site = await Site.inNewFolder();
  const node = await site.serve();
  const id = await node.start("deploy", "site");
  const visitor = await Visitor.open(chromium(), node.origin, { path: `/tasks/${id}` });
  visitor.expectFaults(/status of 403/);
  // Between a log-out and the login after it, this tab may notice that nobody is logged in, and ask for the token.
  const logInElsewhere = async (): Promise<void> => {
    const { origin: Origin } = new URL(node.origin);
    const login = { form: { token: tokens.write, next: "" }, headers: { Origin }, maxRedirects: 0 };
    const answer = await visitor.page.request.post(visitor.urlOf("/login"), login);
    expect(answer.status()).toBe(303);
  };
  await visitor.heading("deploy Needs input").waitFor();
  await logInElsewhere();
  await visitor.act("Cancel…", "Cancel the task");
  await visitor.heading("deploy Cancelled").waitFor();
  await logInElsewhere();
  await visitor.page.getByRole("button", { name: "Log out" }).click();
  await visitor.page.getByLabel("Operator token").waitFor();
});
