export { memoryDatabase, type MemoryDatabase } from "./store/memory/memory-database.ts";
export { memoryStore } from "./store/memory/memory-store.ts";
