export { memoryDatabase, memoryStore, type MemoryDatabase } from "./store/sqlite/memory-store.ts";
