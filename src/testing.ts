export { checkReplay } from "./testing/check-replay.ts";
export { replayHandler } from "./testing/replay-handler.ts";
export type { ReplayedJournal, ReplayReport } from "./testing/replay-handler.ts";
export type { CheckReplayOptions, ReplayCheck } from "./testing/check-replay.ts";
export type { ChangedKey } from "./testing/recorded-store.ts";
export { exportJournal } from "./store/export-journal.ts";
export type { JournalRecording, RecordedEntry, TaskReader } from "./store/export-journal.ts";
export {
  storeContract,
  type ContractCase,
  type SkipContext,
  type StoreKind,
} from "./testing/store-contract.ts";
export type { StorePlace } from "./testing/store-case.ts";
export { testTasks } from "./testing/test-tasks.ts";
export type { TestClock, TestTasks } from "./testing/test-tasks.ts";
export type { TestOptions } from "./testing/test-server.ts";
export type { TestTask } from "./testing/test-task.ts";
export type { ExpectedJournal } from "./testing/test-task.ts";
export type { CrashPoint } from "./testing/crashable-store.ts";
export type { DurableFactory, Register } from "./testing/test-server.ts";
export type { TestAnswer, TestQuestion } from "./testing/test-questions.ts";
export type { TimeSpan } from "./task/time.ts";
