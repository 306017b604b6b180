import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "holdfast/client";
import { expect, it } from "vitest";
import { newFolder, serveExample } from "../docs/example-process.ts";

const names = ["core", "cli", "docs"];

it(
  "shows tools that call tools, and ask through them, also through a restart",
  { timeout: 60_000 },
  async () => {
    const folder = await newFolder();
    const lines = async (file: string): Promise<string[]> =>
      (await readFile(join(folder, file), "utf8")).split("\n").filter(Boolean).toSorted();
    const first = await serveExample("guides/release.ts", folder);
    const asked: string[] = [];
    let gate = Promise.withResolvers<"accept" | "decline">();
    const client = await connect(first.url, {
      onInput: async ({ params }) => {
        asked.push(String((params as { message?: string } | undefined)?.message));
        return { action: await gate.promise, content: {} };
      },
    });
    const release = await client.startTool("release", { version: "1.0.0", names });
    const result = release.result();
    await expect.poll(() => asked, { timeout: 10_000 }).toEqual(["Release 1.0.0 after 11 tests?"]);
    expect(await first.stop()).toEqual([0, null]);
    const second = await serveExample("guides/release.ts", folder, { PORT: new URL(first.url).port });
    gate.resolve("accept");
    expect((await result).content).toEqual([{ type: "text", text: "released 1.0.0 after 11 tests" }]);
    expect(await lines("tested.txt")).toEqual(names.toSorted());
    expect(await lines("published.txt")).toHaveLength(1);

    gate = Promise.withResolvers();
    gate.resolve("decline");
    const declined = await client.callTool("release", { version: "1.0.1", names });
    expect(declined.content).toEqual([
      { type: "text", text: 'not released: Tool "approve" failed: nobody approved it' },
    ]);
    const broken = await client.callTool("release", { version: "1.0.2", names: ["core", "broken-1"] });
    expect(broken).toMatchObject({
      isError: true,
      content: [{ text: 'Tool "test_package" failed: 2 tests of broken-1 fail' }],
    });
    expect(await lines("published.txt")).toHaveLength(1);
    await client.close();
    expect(await second.stop()).toEqual([0, null]);
  },
);
