export { memoryStore } from "./store/memory/memory-store.ts";
