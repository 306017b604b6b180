import { readFile } from "node:fs/promises";
import { connect } from "holdfast/client";
import { expect, it } from "vitest";
import { example, newFolder, serveExample } from "../docs/example-process.ts";
import { Browser } from "../server/dashboard/browser.ts";

it("shows a page for who may act, and for who may look", { timeout: 60_000 }, async () => {
  const env = { ADMIN_TOKEN: "0perator", VISITOR_TOKEN: "v1sitor" };
  const server = await serveExample("guides/dashboard.ts", await newFolder(), env);
  const client = await connect(server.url);
  await client.callTool("render", { month: "may" });
  await client.close();
  const { origin } = new URL(server.url);
  const [operator, visitor] = [new Browser(origin), new Browser(origin)];
  expect((await operator.logIn("0perator")).status).toBe(303);
  expect((await visitor.logIn("v1sitor")).status).toBe(303);
  for (const browser of [operator, visitor])
    expect(await (await browser.ask("/holdfast/api/tasks")).json()).toMatchObject({
      tasks: [{ tool: "render" }],
    });
  expect((await operator.act("/api/tools/render/pause", {})).status).toBe(204);
  expect((await visitor.act("/api/tools/render/resume", {})).status).toBe(403);
  expect(await server.stop()).toEqual([0, null]);
});

it(
  "shows a page beside an application, for those of its users who operate it",
  { timeout: 60_000 },
  async () => {
    const env = { ADA_TOKEN: "ada-1", BOB_TOKEN: "bob-1" };
    const server = await serveExample("guides/dashboard-express.ts", await newFolder(), env);
    const { origin } = new URL(server.url);
    const logIn = (browser: Browser, token: string): Promise<Response> =>
      browser.ask("/ops/tasks/login", { method: "POST", body: new URLSearchParams({ token }) });
    const [ada, bob] = [new Browser(origin), new Browser(origin)];
    expect((await logIn(bob, "bob-1")).status).toBe(401);
    expect((await logIn(ada, "ada-1")).status).toBe(303);
    expect(await (await ada.ask("/ops/tasks/session")).json()).toMatchObject({ actor: "ada", role: "admin" });
    const client = await connect(server.url, { headers: { Authorization: "Bearer bob-1" } });
    expect((await client.callTool("greet", {})).content).toEqual([{ type: "text", text: "Hello" }]);
    await client.close();
    expect(await (await ada.ask("/ops/tasks/api/tasks")).json()).toMatchObject({
      tasks: [{ principal: "bob" }],
    });
    expect(await server.stop()).toEqual([0, null]);
  },
);

it("is what the guide shows", async () => {
  const guide = await readFile(new URL("../../docs/operate/dashboard.md", import.meta.url), "utf8");
  for (const name of ["dashboard.ts", "dashboard-express.ts"])
    expect(guide).toContain(await readFile(example(`guides/${name}`), "utf8"));
});
