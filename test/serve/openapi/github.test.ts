import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { openapi } from "../../../src/serve/openapi/openapi.ts";
import type { SourceTool } from "../../../src/serve/source.ts";
import { clientOf, gateway } from "../mcp/gateway.ts";
import { json, service } from "./jobs.ts";

/** GitHub's own document of its API, of which some operations are kept: the notice of its licence is in `info`. */
const document = fileURLToPath(new URL("./github.json", import.meta.url));

/** The tools of these operations, and what is said at the start. */
async function opened(include: readonly string[]) {
  const problems: string[] = [];
  let tools: readonly SourceTool[] = [];
  await openapi("github", { document, include }).open({
    onError: (error) => problems.push(String(error)),
    setTools: (found) => (tools = found),
  });
  return { names: tools.map(({ name }) => name), problems };
}

it("has the operations of a public service that are chosen by tag, pattern and id", async () => {
  const { names, problems } = await opened(["tag:gists", "GET /repos/*", "markdown/render*"]);
  expect(problems).toEqual([]);
  expect(names).toHaveLength(27);
  expect(names).toEqual(
    expect.arrayContaining(["gists_create", "repos_get-contributors-stats", "markdown_render-raw"]),
  );
  expect(names).not.toContain("actions_cancel-workflow-run");
});

it("says at the start what it does not support, and has all else", async () => {
  const { paths } = JSON.parse(await readFile(document, "utf8")) as { paths: Record<string, object> };
  const all = Object.values(paths).flatMap((methods) => Object.keys(methods));
  const { names, problems } = await opened(["*"]);
  expect(problems).toEqual([
    expect.stringMatching(
      /POST \/repos\/\{owner\}\/\{repo\}\/releases\/\{release_id\}\/assets: it is left out: it has a server of its own, https:\/\/uploads\.github\.com/,
    ),
  ]);
  expect(names).toHaveLength(all.length - 1);
});

it(
  "sends what the service expects, and takes none of its answers for another",
  { timeout: 30_000 },
  async () => {
    const { url, received } = await service(({ method, url: at }, response, times) => {
      if (at.endsWith("/stats/contributors"))
        json(response, times < 2 ? 202 : 200, times < 2 ? {} : { total: 7 });
      else if (at.endsWith("/logs"))
        response.writeHead(302, { location: "https://logs.example/x?sig=SECRET" }).end();
      else if (at.endsWith("/cancel")) json(response, 202, {});
      else if (at === "/markdown/raw")
        response.writeHead(200, { "content-type": "text/html" }).end("<p>a</p>");
      else if (method === "PUT") response.writeHead(204).end();
      else json(response, 200, { ok: true });
    });
    const client = await clientOf(
      await gateway([openapi("github", { document, server: url, allow: ["127.0.0.1"] })]),
    );
    const repo = { owner: "octo", repo: "hello" };
    const said = async (tool: string, args: Record<string, unknown>) => client.callTool(tool, args);
    expect(await said("repos_get-contributors-stats", repo)).toMatchObject({
      structuredContent: { total: 7 },
    });
    expect(await said("actions_download-workflow-run-logs", { ...repo, run_id: 5 })).toMatchObject({
      isError: true,
      content: [
        {
          text: expect.stringMatching(
            /HTTP 302, a redirect to https:\/\/logs\.example\/x, which is not followed\.$/,
          ),
        },
      ],
    });
    expect(await said("actions_cancel-workflow-run", { ...repo, run_id: 5 })).not.toHaveProperty("isError");
    expect(await said("markdown_render-raw", { body: "*a*" })).toMatchObject({
      content: [{ text: "<p>a</p>" }],
    });
    expect(await said("gists_star", { gist_id: "g1" })).toMatchObject({ content: [{ text: "HTTP 204" }] });
    expect(await said("search_code", { q: "a b in:file", per_page: 5 })).not.toHaveProperty("isError");
    expect(await said("gists_create", { body: { files: "none" } })).toMatchObject({ isError: true });
    const file = { "a.txt": { content: "a" } };
    await said("gists_create", { body: { files: file, public: "false" } });
    expect(received.map(({ method, url: at, body }) => `${method} ${at} ${body}`.trim())).toEqual([
      "GET /repos/octo/hello/stats/contributors",
      "GET /repos/octo/hello/stats/contributors",
      "GET /repos/octo/hello/actions/runs/5/logs",
      "POST /repos/octo/hello/actions/runs/5/cancel",
      "POST /markdown/raw *a*",
      "PUT /gists/g1/star",
      "GET /search/code?q=a%20b%20in%3Afile&per_page=5",
      `POST /gists ${JSON.stringify({ files: file, public: "false" })}`,
    ]);
  },
);
