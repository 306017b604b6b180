import { remoteAdmin } from "holdfast/client";

const [url = "http://127.0.0.1:3000/admin"] = process.argv.slice(2);
const admin = remoteAdmin(url, { token: process.env["ADMIN_TOKEN"] ?? "" });

const failed = { tool: "publish_report", states: ["failed"] } as const;
for (const { message, count, taskId } of await admin.failures(failed.tool)) {
  console.log(`${count} × ${message} (the last one: ${taskId})`);
}
// The server records its own name for the token, not this one.
const { created, refused } = await admin.as("on-call").bulk("retry", failed, { limit: 100 });
console.log(`${created.length} run again, ${refused.length} cannot`);
