// A server with a step that never lets go of the event loop: node blocking-server.ts HEALTH_PORT
import { memoryStore } from "../../src/store/sqlite/memory-store.ts";
import { Watchdog } from "../../src/runtime/watchdog/watchdog.ts";
import { RealRuntime } from "../traps/real-runtime.ts";

function spinForever(): never {
  for (;;) continue;
}

const health = { host: "127.0.0.1", port: Number(process.argv[2]) };
const watchdog = new Watchdog({
  watch: { loopBlockedMs: 200, exitMs: 1_000, health },
  events: undefined,
  onError: (error) => console.error(error),
});
watchdog.start();
const server = await RealRuntime.started(memoryStore(), {
  spins: async (_, task) => {
    await task.step("spin", spinForever);
    return { content: [] };
  },
});
await server.call("spins");
