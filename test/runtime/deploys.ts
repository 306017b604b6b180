import * as z from "zod";

import { isTerminal } from "../../src/task/outcome.ts";
import { bodyOf, Process, text, type Handler, type Setup } from "./harness.ts";

// Deploys with a mistake, over tasks that wait, and the rollback of each.

/** What tasks wait for when the deploy comes. */
export const kinds = ["question", "sleep", "event", "call", "retried step", "two waits"] as const;
type Kind = (typeof kinds)[number];

export const mistakes = [
  "none",
  "another text",
  "another kind of entry",
  "other arguments",
  "a renamed step",
  "a newer version with another text",
  "no such tool",
] as const;
export type Mistake = (typeof mistakes)[number];

const hour = 3_600_000;
const question = (message: string) => ({
  message,
  requestedSchema: { type: "object", properties: {} } as const,
});

/** How often the last step of each task ran. */
export class Ends {
  readonly counts = new Map<string, number>();

  count(id: string): void {
    this.counts.set(id, (this.counts.get(id) ?? 0) + 1);
  }
}

/** Waits under the key `wait`, as the code of the deploy has it. */
async function waitsFor(
  kind: Kind,
  mistake: Mistake,
  task: Parameters<Handler>[1],
  down: () => boolean,
): Promise<string> {
  const isOther = mistake === "another text" || mistake === "a newer version with another text";
  if (mistake === "another kind of entry")
    return kind === "sleep"
      ? String(await task.step("wait", () => "worked"))
      : String(await task.sleep("wait", 1));
  switch (kind) {
    case "question":
      return (await task.elicit("wait", question(isOther ? "Ship it now?" : "Ship it?"))).action;
    case "event":
      return String(await task.waitForEvent("wait", isOther ? "was paid" : "paid"));
    case "call":
      return JSON.stringify((await task.call("wait", "child", isOther ? { other: 1 } : {})).content);
    case "sleep":
      if (isOther) await task.elicit("wait", question("Slept?"));
      else await task.sleep("wait", hour / 2);
      return "slept";
    case "retried step":
      if (isOther) await task.sleep("wait", 1);
      return task.step("wait", { retries: 9, backoff: { firstMs: hour / 2 } }, () => {
        if (down()) throw new Error("down");
        return "up";
      });
    case "two waits": {
      const [answer, event] = await Promise.all([
        task.elicit("wait", question(isOther ? "Both, now?" : "Both?")),
        task.waitForEvent("event", "paid"),
      ]);
      return `${answer.action} ${String(event)}`;
    }
  }
}

/** The tools of a deploy. A step is down until the first deploy is over. */
export function deploy(mistake: Mistake, ends: Ends, down: () => boolean): Setup["tools"] {
  const child: Handler = async (_, task) => text(String(await task.waitForEvent("paid", "paid")));
  const tools = kinds.map((kind) => {
    const handler: Handler = async (_, task) => {
      await task.step(mistake === "a renamed step" ? "begin" : "first", () => 1);
      const answer = await waitsFor(kind, mistake, task, down);
      await task.step("last", () => ends.count(task.id));
      return text(answer);
    };
    const config = {
      version: mistake === "a newer version with another text" ? 2 : 1,
      ...(mistake === "other arguments" && { inputSchema: z.object({ items: z.array(z.string()) }) }),
    };
    return [kind, { config, handler }] as const;
  });
  return { child, ...(mistake === "no such tool" ? {} : Object.fromEntries(tools)) };
}

/** What becomes of so many tasks of each kind: what they end with, and how often their last step ran. */
export async function deployedOver(mistake: Mistake, each: number): Promise<readonly (readonly unknown[])[]> {
  const ends = new Ends();
  let isDown = true;
  const setup = (of: Mistake): Setup => ({
    tools: deploy(of, ends, () => isDown),
    options: { unregisteredGraceMs: 1_000, concurrency: 8, maxUnfinished: null },
  });
  let process = await Process.started(setup("none"));
  const ids: (readonly [Kind, string])[] = [];
  for (const kind of kinds)
    for (let nr = 0; nr < each; nr++) ids.push([kind, await process.callId(kind, { origin })]);
  for (const [, id] of ids)
    await process.until(id, ({ task }) => task.waiting || (task.lane === null && task.state === "queued"));
  isDown = false;
  process = await process.restart(setup(mistake));
  await arrive(
    process,
    ids.filter((_, place) => place % 2 === 0),
  );
  for (let minutes = 0; minutes < 60; minutes += 20) await process.clock.advance(hour / 3);
  process = await process.restart(setup("none"));
  await arrive(
    process,
    ids.filter((_, place) => place % 2 === 1),
  );
  for (let hours = 0; hours < 3; hours++) await process.clock.advance(hour);
  const found = [];
  for (const [kind, id] of ids) {
    const ended = await process.until(id, ({ task }) => isTerminal(task.state));
    found.push([kind, ended.task.state, bodyOf(ended)["content"], ends.counts.get(id)]);
  }
  await process.runtime.stop();
  return found;
}

const origin = { capabilities: { elicitation: {} } };

/** What each task waits for comes, unless it has ended, or the deploy made something else of it. */
async function arrive(process: Process, ids: readonly (readonly [Kind, string])[]): Promise<void> {
  for (const [kind, id] of ids) {
    if (kind === "question" || kind === "two waits") await process.answer(id, "wait", { action: "accept" });
    if (kind === "event" || kind === "two waits")
      await process.runtime.sendEvent(id, { name: "paid", value: "1" });
    if (kind === "call") {
      for (const task of await process.store.unfinished("", 9_999)) {
        if (task.parent?.id === id) await process.runtime.sendEvent(task.id, { name: "paid", value: "1" });
      }
    }
  }
}
