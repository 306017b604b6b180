import { onlyInNode } from "../only-in-node.ts";

export class CoreReceivedTasks {
  constructor() {
    onlyInNode("receiveTasks", "leave it out: questions are then plain requests");
  }
}
