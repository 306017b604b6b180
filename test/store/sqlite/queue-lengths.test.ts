import { expect, test } from "vitest";
import { createQueued } from "../../contract/sample-task.ts";
import { useTempDirectory } from "./temp-directory.ts";

const temp = useTempDirectory();

test("the queues of tools are counted one in each turn of the event loop", async () => {
  const store = await temp.open();
  for (const tool of ["build", "publish", "withdraw"]) await store.write(createQueued(tool, { tool }));
  let turns = 0;
  const turn = (): void => {
    turns++;
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  const queues = await store.admin?.queues(9);
  clearImmediate(next);
  expect(queues?.map(({ tool, tasks }) => `${tool} ${tasks}`)).toEqual([
    "build 1",
    "publish 1",
    "withdraw 1",
  ]);
  expect(turns).toBeGreaterThanOrEqual(3);
  const [late] = await Promise.allSettled([store.admin?.queues(9), store.close()]);
  expect(late).toMatchObject({ status: "rejected", reason: { code: "store_closed" } });
});
