import assert from "node:assert/strict";
import { test } from "node:test";
import { testTasks } from "holdfast/testing";
import { addPublish } from "./publish.ts";

test("a report is sent once, two days after somebody approved it, whatever dies in between", async () => {
  const sent = new Map<string, string[]>();
  const mail = { send: async (rows: string[], key: string) => void sent.set(key, rows) };
  await using t = await testTasks((tasks) => addPublish(tasks, mail));

  const queried = t.crash({ after: "query" }); // the server dies once the rows are stored
  const task = await t.start("publish", { month: "2026-10" });
  await queried;
  await t.restart();

  const { params } = await task.question("approve");
  assert.equal(params["message"], "Send 2 rows?");
  await task.answer("approve", { action: "accept", content: {} });

  await t.clock.advance("47h");
  assert.equal(sent.size, 0);
  const mailed = t.crash({ before: "send" }); // the mail was sent, but that is not stored yet
  await t.clock.advance("1h");
  await mailed;
  await t.restart();

  const { content } = await task.result();
  assert.deepEqual(content, [{ type: "text", text: "sent 2 rows" }]);
  await task.assertJournal(["query", "approve", "cool off", "send"]);
  await task.assertJournal({ query: ["2026-10-01 42", "2026-10-02 17"] });
  assert.equal(t.runs("query"), 1);
  assert.equal(t.runs("send"), 2); // twice, with one idempotency key
  assert.equal(sent.size, 1);
});

test("nothing is sent that was declined", async () => {
  const mail = { send: () => Promise.reject(new Error("not to be sent")) };
  await using t = await testTasks((tasks) => addPublish(tasks, mail));
  t.answers({ approve: { action: "decline" } });
  const { content } = await t.call("publish", { month: "2026-10" });
  assert.deepEqual(content, [{ type: "text", text: "not sent" }]);
});
