import { remoteAdmin } from "holdfast/client";

const { ADMIN_TOKEN } = process.env;
if (ADMIN_TOKEN === undefined) throw new Error("Set ADMIN_TOKEN to the operators' token of the server.");
const [url = "http://127.0.0.1:3000/admin"] = process.argv.slice(2);
const admin = remoteAdmin(url, { token: ADMIN_TOKEN });

const failed = { tool: "publish_report", states: ["failed"] } as const;
for (const { message, count, taskId } of await admin.failures(failed.tool)) {
  console.log(`${count} × ${message} (the last one: ${taskId})`);
}
// The server records its own name for the token, not this one.
const { created, refused } = await admin.as("on-call").bulk("retry", failed, { limit: 100 });
console.log(`${created.length} run again, ${refused.length} cannot`);
