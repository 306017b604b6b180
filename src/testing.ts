export { checkReplay } from "./testing/check-replay.ts";
export type { CheckReplayOptions, ReplayCheck } from "./testing/check-replay.ts";
export type { ChangedKey } from "./testing/replayed-calls.ts";
export { exportJournal } from "./store/export-journal.ts";
export type { JournalRecording, RecordedEntry, TaskReader } from "./store/export-journal.ts";
export { storeContract, type ContractCase, type StoreKind } from "./testing/store-contract.ts";
export type { StorePlace } from "./testing/store-case.ts";
