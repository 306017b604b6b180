import { expect, it } from "vitest";
import { sampleBytes } from "../kit/sample-bytes.ts";
import { Process, text } from "../runtime/harness.ts";
import { adminOf } from "./operator.ts";

it("shows the files of a task, and reads them in parts", async () => {
  const bytes = Buffer.from(sampleBytes(1_500_000));
  const process = await Process.started({
    tools: {
      export: async (_, task) => {
        await task.artifact("data.bin", bytes);
        await task.artifact("notes.txt", "é");
        return text("done");
      },
      plain: async () => text("done"),
    },
  });
  const id = await process.callId("export");
  await process.ended(id);
  const admin = adminOf(process);
  const { files } = await admin.show(id);
  expect(files).toMatchObject([
    { name: "data.bin", mimeType: "application/octet-stream", bytes: 1_500_000 },
    { name: "notes.txt", mimeType: "text/plain", bytes: 2 },
  ]);
  const read: Buffer[] = [];
  for (let from = 0; from < bytes.length;) {
    const part = await admin.artifact(id, "data.bin", { from });
    expect(part).toMatchObject({ ...files[0], from });
    read.push(Buffer.from(part.data, "base64"));
    from += read.at(-1)?.length ?? 0;
  }
  expect(read).toHaveLength(2);
  expect(Buffer.concat(read).equals(bytes)).toBe(true);
  const short = await admin.artifact(id, "data.bin", { from: 7, bytes: 3 });
  expect(short.data).toBe(bytes.toString("base64", 7, 10));
  await expect(admin.artifact(id, "other")).rejects.toMatchObject({ code: "invalid_params" });
  await expect(admin.artifact("nobody", "data.bin")).rejects.toMatchObject({ code: "unknown_task" });
  const other = await process.callId("plain");
  await process.ended(other);
  expect((await admin.show(other)).files).toEqual([]);
  await process.runtime.stop();
});
