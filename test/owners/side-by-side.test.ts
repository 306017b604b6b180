import type { TaskClient } from "holdfast/client";
import { expect, it } from "vitest";
import { Owners } from "./owners.ts";

/** The versions of the code with which a call began and ended. */
async function versionsOf(
  client: TaskClient,
  word: string,
): Promise<{ readonly began: number; readonly ended: number }> {
  const { content } = await client.callTool("quick", { word });
  const [{ text = "" } = {}] = content as readonly { readonly text?: string }[];
  const [said, began, ended] = text.split(" ");
  expect(said).toBe(word);
  return { began: Number(began), ended: Number(ended) };
}

it("serves the tasks of two versions side by side, none of them by older code than it began with", async () => {
  const owners = await Owners.inNewFolder();
  const [older, newer] = await Promise.all([owners.start("quick@1"), owners.start("quick@2")]);
  const [atOlder, atNewer] = await Promise.all([older.client(), newer.client()]);
  const calls = [atOlder, atNewer].flatMap((client, at) =>
    Array.from({ length: 10 }, (_, n) => versionsOf(client, `w${at}-${n}`)),
  );
  const all = await Promise.all(calls);
  expect(all.filter(({ began, ended }) => ended < began)).toEqual([]);
  expect(new Set(all.map(({ began }) => began))).toEqual(new Set([1, 2]));
});
