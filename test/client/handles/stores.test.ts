import { fileHandles } from "../../../src/client/handles/file-handles.ts";
import { memoryHandles } from "../../../src/client/handles/handle-store.ts";
import { folderForHandles } from "./folder.ts";
import { describeHandleStore } from "./store-cases.ts";

describeHandleStore("fileHandles", async () => fileHandles(await folderForHandles()));
describeHandleStore("memoryHandles", async () => memoryHandles());
