import { onlyInNode } from "../only-in-node.ts";
import type * as Node from "./file-handles.ts";

export const fileHandles: typeof Node.fileHandles = () =>
  onlyInNode("A file of handles", "pass a store of your own as handles, or memoryHandles()");
