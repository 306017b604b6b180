import "./runtime/require-node.ts";
export { connectAll } from "./host/host.ts";
export type { Host } from "./host/host.ts";
export type {
  ApprovalRequest,
  HostOptions,
  HostQuestion,
  HostServer,
  HostTool,
  ServerEntry,
  ToolPolicy,
} from "./host/host-options.ts";
export type {
  Conversation,
  HostCallOptions,
  HostCallResult,
  InboxMessage,
  InboxOptions,
} from "./host/conversation.ts";
export type { ConversationEvent, OpenCall } from "./host/followed-calls.ts";
