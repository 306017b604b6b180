// A process that has nothing to do but to stop: node stop-child.ts. It says "stopped" when that is done.
import { createRuntime } from "../../src/runtime/create-runtime.ts";
import { Registry } from "../../src/runtime/tool/registry.ts";
import { memoryStore } from "../../src/store/sqlite/memory-store.ts";

const registry = new Registry();
// Nothing of it keeps the process alive.
registry.add("hangs", {}, () => new Promise(() => undefined));
const runtime = createRuntime({ store: memoryStore(), registry, options: { stopDeadlineMs: 50 } });
await runtime.start();
const origin = { capabilities: {} };
await runtime.create({ generation: "2026-07-28", principal: null, tool: "hangs", arguments: {}, origin });
await runtime.stop();
console.log("stopped");
