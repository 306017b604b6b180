import { expect, it } from "vitest";
import { Owners, text, type Owner } from "./owners.ts";
import { plainClient } from "./plain-client.ts";

/** For a busy machine; a test takes a few seconds. */

/** Sends every request to the process that is next, as a balancer does that knows nothing of sessions. */
function inTurn(owners: readonly Owner[], seen: string[]): typeof fetch {
  let next = 0;
  return (input, init) => {
    if (typeof init?.body === "string") {
      seen.push(String((JSON.parse(init.body) as { method?: string }).method));
    }
    return fetch(owners[next++ % owners.length]?.url ?? input, init);
  };
}

it("three processes serve one session, and two when one of them is killed", async () => {
  const owners = await Owners.inNewFolder();
  const [first, ...others] = await Promise.all([1, 2, 3].map(() => owners.start("gated", "asks")));
  if (first === undefined) throw new Error("There are three.");
  const all = [first, ...others];
  const seen: string[] = [];
  const client = await plainClient(first, inTurn(all, seen));
  for (const word of ["one", "two", "three", "four", "five", "six"]) {
    owners.openGate(word);
    const called = await client.callTool({ name: "gated", arguments: { word } });
    expect(called).toMatchObject(text(`${word.toUpperCase()} ${word}`));
    // The answer is a request of its own, and comes to another process than the call.
    const asked = await client.callTool({ name: "asks", arguments: { word } });
    expect(asked).toMatchObject(text(`Ada's ${word}`));
    if (word === "three") {
      await first.send("SIGKILL");
      all.shift();
    }
  }
  expect(seen.filter((method) => method === "initialize")).toHaveLength(1);
});
