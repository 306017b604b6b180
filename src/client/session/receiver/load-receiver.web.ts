import { onlyInNode } from "../../only-in-node.ts";
import type * as Node from "./load-receiver.ts";

export const loadReceiver: typeof Node.loadReceiver = async () =>
  onlyInNode("receiveTasks", "leave it out: questions are then plain requests");
