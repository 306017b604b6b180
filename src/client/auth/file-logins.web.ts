import { onlyInNode } from "../only-in-node.ts";
import type * as Node from "./file-logins.ts";

export const fileLogins: typeof Node.fileLogins = () =>
  onlyInNode("A folder of logins", "pass a store of your own, or memoryLogins()");
