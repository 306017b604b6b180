import { onTestFinished, test } from "vitest";
import { Scene } from "../chaos/scene.ts";
import { Pair } from "./pair.ts";

test(
  "what clients saw over a failover to a synchronous standby is one history of each task",
  { timeout: 240_000 },
  async () => {
    const pair = await Pair.start("synchronous");
    onTestFinished(() => pair[Symbol.asyncDispose]());
    const scene = await Scene.open({
      url: pair.wire.url,
      tasks: 20,
      seed: 1,
      options: { leaseMs: 2_500, timeoutMs: 2_000 },
    });
    await pair.lose();
    await pair.promote();
    await scene.expectKept();
  },
);
