import "./runtime/require-node.ts";
export { worker } from "./runtime/threads/worker-options.ts";
export type {
  WorkerExport,
  WorkerInput,
  WorkerModule,
  WorkerOptions,
  WorkerOutput,
} from "./runtime/threads/worker-options.ts";
export type { WorkerStepContext } from "./runtime/threads/worker-context.ts";
export { NonRetryableError } from "./runtime/tool/tool-errors.ts";
export { HoldfastError } from "./task/fault.ts";
