import { expect, it } from "vitest";
import { Owners, text } from "./owners.ts";

it("processes that start at the same moment share a file that was not there", async () => {
  const owners = await Owners.inNewFolder();
  const all = await Promise.all(Array.from({ length: 6 }, () => owners.start("gated")));
  await Promise.all(
    all.map(async (owner, n) => {
      const client = await owner.client();
      owners.openGate(`${n}`);
      expect(await client.callTool("gated", { word: `${n}` })).toMatchObject(text(`${n} ${n}`));
      expect(owners.runnersOf(`${n}`)).toEqual([owner.pid]);
    }),
  );
  await Promise.all(all.map((owner) => owner.send("SIGKILL")));
  const next = await owners.start("gated");
  owners.openGate("next");
  expect(await (await next.client()).callTool("gated", { word: "next" })).toMatchObject(text("NEXT next"));
});
